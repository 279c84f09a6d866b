import pg from 'pg';
import { z } from 'zod';
import { NestingError } from '../../domain/core/parse-json.ts';
import { batcher } from '../core/batcher.ts';
import {
  type Batch,
  BATCH_ITEMS,
  type ConnectorContext,
  type Reading,
  type ReadItem,
  type SourceRecord,
} from '../core/contract.ts';
import { sayDepth } from '../core/json-record.ts';
import { malformed } from '../core/malformed.ts';
import { sayOddCursors, sayStuckCursor } from '../core/odd-cursors.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { MAX_COLUMN_NESTING } from './postgres-kind.ts';
import { oddCursorsOf, type OddCursors } from './odd-cursor-values.ts';
import { MAX_ROW_BYTES, type PostgresRow, postgresRows } from './postgres-rows.ts';
import { openSession, type PostgresSession } from './postgres-session.ts';
import type { PostgresSettings } from './postgres-settings.ts';
import { findStream, type PostgresColumn, type PostgresStream } from './postgres-stream.ts';

/**
 * How a stream is read. By its key it is read in pages, each a statement of its own that begins behind the last row:
 * without one, in a single statement.
 */
type Plan = {
  stream: PostgresStream;
  /** The columns that it is ordered by, whose values say where to go on: the field, then the key. */
  order: string[];
  hasPages: boolean;
  /** Conditions of SQL, besides where it goes on. */
  conditions: string[];
  /** Rows whose cursor value moves nothing; null where there are none. */
  odd: OddCursors | null;
  /** How old a row is at least. */
  lagSeconds: number;
};

/** A statement, and its snapshot, lasts for so many rows, and about so many bytes. */
const PAGE_ROWS = 100_000;
const FIRST_PAGE_ROWS = BATCH_ITEMS;
const PAGE_BYTES = 256 * 1024 * 1024;

/** The values of `order` in the last row of a batch, as Postgres writes them. */
const PostgresCursor = z.array(z.string()).min(1);
type PostgresCursor = z.output<typeof PostgresCursor>;

const name = pg.escapeIdentifier;

/** Reads a table, a view or a query: `Reading` says what is asked. */
export async function* readPostgres(
  settings: PostgresSettings,
  reading: Reading,
  context: ConnectorContext,
): AsyncGenerator<Batch> {
  const session = await openSession(settings, context);
  try {
    await session.begin('read');
    const plan = await planOf(session, await findStream(session, reading.stream), reading);
    const after = await cursorBehind(plan, reading, context);
    const doneOf = doneAfter(await estimateRows(session, plan, after));
    await session.commit();
    if (plan.lagSeconds > 0)
      context.log(`rows younger than ${plan.lagSeconds} s (lag_seconds) wait for the next reading`);
    let [rows, odd] = [0, 0];
    for await (const batch of plan.hasPages ? pages(session, plan, after) : whole(session, plan, after)) {
      rows += batch.items.length;
      odd += batch.oddCursors ?? 0;
      yield { ...batch, done: doneOf(rows) };
    }
    if (odd > 0) context.log(sayOddCursors(odd, plan.order[0]!));
  } catch (error) {
    throw session.error(error);
  } finally {
    await session.end();
  }
}

/** How many rows are left to read, as Postgres' planner has it: counting them would take as long as reading them. */
async function estimateRows(session: PostgresSession, plan: Plan, after: PostgresCursor | null): Promise<number> {
  const select = selectOf(
    plan,
    newRows(plan, after === null ? [] : [plan.hasPages ? behind(plan, after) : notBefore(plan, after)]),
  );
  const {
    rows: [row],
  } = await session.client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (FORMAT JSON) ${select}`);
  const [explained] = Explained.parse(JSON.parse(row!['QUERY PLAN']));
  return explained.Plan['Plan Rows'];
}

const Explained = z.tuple([z.object({ Plan: z.object({ 'Plan Rows': z.number() }) })]);

/** An estimate that was too low is never overtaken: the rest is unknown. */
const doneAfter = (expected: number) => (rows: number) => Math.min(rows / Math.max(1, expected), 0.99);

const behind = ({ order }: Plan, after: PostgresCursor) =>
  `(${order.map(name).join(', ')}) > (${after.map(pg.escapeLiteral).join(', ')})`;
const notBefore = ({ order }: Plan, from: PostgresCursor) => `${name(order[0]!)} >= ${pg.escapeLiteral(from[0]!)}`;

async function planOf(session: PostgresSession, stream: PostgresStream, { mode, cursorField }: Reading): Promise<Plan> {
  const { lag_seconds: lagSeconds } = session.settings;
  if (mode === 'full')
    return { stream, order: stream.key, hasPages: stream.key.length > 0, conditions: [], odd: null, lagSeconds: 0 };
  const column = stream.columns.find((candidate) => candidate.name === cursorField);
  if (column === undefined || !column.kind.isOrdered) {
    const what =
      cursorField === null
        ? 'cursor_field is missing'
        : `What is new in ${stream.name} cannot be told by ${cursorField}`;
    throw sourceRefusal('source_refused', `${what}: use a column of numbers, times, dates, text or UUIDs`);
  }
  const odd = await oddCursorsOf(session, column);
  return {
    stream,
    odd,
    order: [column.name, ...stream.key.filter((part) => part !== column.name)],
    hasPages: stream.key.length > 0,
    conditions: [
      `${name(column.name)} IS NOT NULL`,
      ...lagOf(column, lagSeconds),
      ...(odd === null ? [] : [`NOT (${odd.condition})`]),
    ],
    lagSeconds: column.kind.time === undefined ? 0 : lagSeconds,
  };
}

/**
 * A row that is committed after younger ones were read would never be seen: so young rows wait for the next reading.
 */
function lagOf({ name: column, kind }: PostgresColumn, lagSeconds: number): string[] {
  if (kind.time === undefined || lagSeconds === 0) return [];
  const until = `now() - make_interval(secs => ${lagSeconds})`;
  return [kind.time === 'instant' ? `${name(column)} <= ${until}` : `${name(column)} < (${until})::date`];
}

function cursorOf({ stream, order, hasPages }: Plan, { cursor, mode }: Reading): PostgresCursor | null {
  if (cursor === null || (mode === 'full' && !hasPages)) return null;
  const read = PostgresCursor.safeParse(cursor);
  if (read.success && read.data.length === order.length) return read.data;
  throw sourceRefusal(
    'source_changed',
    `${stream.name} has another primary key than when its reading began: read it from the beginning`,
  );
}

/** The cursor, unless it stands at an odd value, behind which nothing new would come. */
async function cursorBehind(plan: Plan, reading: Reading, context: ConnectorContext): Promise<PostgresCursor | null> {
  const after = cursorOf(plan, reading);
  if (after === null || !(await plan.odd?.isStuckAt(after[0]!))) return after;
  context.log(sayStuckCursor(plan.order[0]!));
  return null;
}

async function* pages(session: PostgresSession, plan: Plan, from: PostgresCursor | null): AsyncGenerator<Batch> {
  let after = from;
  let limit = FIRST_PAGE_ROWS;
  for (;;) {
    let rows = 0;
    let bytes = 0;
    await session.begin('read');
    const select = selectOf(plan, newRows(plan, after === null ? [] : [behind(plan, after)]));
    for await (const batch of batches(session, plan, `${select} LIMIT ${limit}`)) {
      rows += batch.items.length;
      bytes += batch.bytes;
      after = batch.cursor as PostgresCursor;
      yield batch;
    }
    await session.commit();
    if (rows < limit) break;
    limit = Math.max(1, Math.min(PAGE_ROWS, Math.floor(PAGE_BYTES / (bytes / rows + 1))));
  }
  if (plan.odd === null) return;
  await session.begin('read');
  yield* batches(session, plan, selectOf(plan, plan.odd.condition), after);
  await session.commit();
}

/** Rows with the last value of the field come again, as there is no key to tell which of them were read. */
async function* whole(session: PostgresSession, plan: Plan, from: PostgresCursor | null): AsyncGenerator<Batch> {
  await session.begin('read');
  const isNew = newRows(plan, from === null ? [] : [notBefore(plan, from)]);
  yield* batches(
    session,
    plan,
    selectOf(plan, plan.odd === null ? isNew : `(${isNew}) OR ${plan.odd.condition}`),
    from,
  );
  await session.commit();
}

const newRows = ({ conditions }: Plan, where: string[]) => [...conditions, ...where].join(' AND ') || 'true';

/**
 * The columns of the order come first, since only the beginning of a row that is too wide is kept; then whether its
 * cursor value is odd.
 */
function selectOf({ stream, order, odd }: Plan, where: string): string {
  const columns = [
    ...order.map(name),
    odd?.condition ?? 'false',
    ...stream.columns.map((column) => name(column.name)),
  ].join(', ');
  return (
    `SELECT ${columns} FROM ${stream.from} WHERE ${where}` +
    (order.length === 0 ? '' : ` ORDER BY ${order.map((_, index) => index + 1).join(', ')}`)
  );
}

/** Batches of rows; where all are odd, with the cursor `from`. */
async function* batches(
  session: PostgresSession,
  plan: Plan,
  select: string,
  from: PostgresCursor | null = null,
): AsyncGenerator<Batch> {
  const { add, odd, passed, rest } = batcher(from);
  for await (const rows of postgresRows(session, select)) {
    for (const row of rows) {
      for (const full of add(toItem(plan, row), row.line.length)) yield full;
      if (row.cells[plan.order.length] === 't') odd();
      else if (plan.order.length > 0) passed(positionOf(plan, row));
    }
  }
  yield* rest();
}

/** Of a value that a reading goes by. An index of Postgres holds none of this length. */
const MAX_POSITION = 10_000;

function positionOf({ stream, order }: Plan, { cells }: PostgresRow): PostgresCursor {
  return order.map((column, index) => {
    const cell = cells[index];
    if (typeof cell === 'string' && cell.length <= MAX_POSITION) return cell;
    throw sourceRefusal(
      'source_refused',
      `${stream.name} cannot be read by ${column}: it has values that are too long for that`,
    );
  });
}

function toItem({ stream, order }: Plan, { cells, line, isCut }: PostgresRow): ReadItem {
  if (isCut) return malformed(line, `The row has more than ${MAX_ROW_BYTES / 1024 / 1024} MiB`);
  const record: [string, SourceRecord[string]][] = [];
  for (const [index, column] of stream.columns.entries()) {
    const cell = cells[order.length + 1 + index] ?? null;
    try {
      record.push([column.name, cell === null ? null : column.kind.parse(cell)]);
    } catch (error) {
      const why = error instanceof NestingError ? sayDepth(MAX_COLUMN_NESTING) : 'cannot be read';
      return malformed(line, `The column ${column.name} ${why}`);
    }
  }
  return { kind: 'record', record: Object.fromEntries(record) };
}
