/** Connector that reads from and writes to Postgres. */
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { z } from 'zod';
import { NestingError } from '../../domain/json/parse-json.ts';
import { batcher } from '../core/batcher.ts';
import {
  type Batch,
  BATCH_BYTES,
  BATCH_ITEMS,
  connector,
  type ConnectorContext,
  type Reading,
  type ReadItem,
  type SourceRecord,
} from '../core/contract.ts';
import { sayDepth, malformed } from '../core/json-record.ts';
import { AHEAD_MS, sayOddCursors, sayStuckCursor } from '../core/odd-cursors.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import {
  MAX_COLUMN_NESTING,
  checkSchema,
  findStream,
  listStreams,
  listTables,
  type PostgresColumn,
  type PostgresStream,
  toStream,
} from './postgres-stream.ts';
import { inSession, openSession, type PostgresSession } from './postgres-session.ts';
import { PostgresSettings } from './postgres-settings.ts';
import { writePostgres } from './write-postgres.ts';

export const postgres = connector({
  name: 'postgres',
  title: 'PostgreSQL',
  settings: PostgresSettings,
  source: {
    check: (settings, context) =>
      inSession(settings, context, 'read', async (session) => {
        await checkSchema(session);
        await listStreams(session);
      }),
    discover: (settings, context) =>
      inSession(settings, context, 'read', async (session) => (await listStreams(session)).map(toStream)),
    read: readPostgres,
  },
  destination: {
    check: (settings, context) => inSession(settings, context, 'write', checkSchema),
    discover: (settings, context) =>
      inSession(settings, context, 'write', async (session) =>
        (await listTables(session))
          .filter(({ isWritable }) => isWritable)
          .map((table) => ({ ...toStream(table), keys: table.uniqueKeys })),
      ),
    write: writePostgres,
  },
});

/** Reads a table, a view or a query. */
async function* readPostgres(
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

/** The way to read a stream: with a key in pages behind the last row, else in one statement. */
type Plan = {
  stream: PostgresStream;
  /** Columns of the order, whose values are the cursor: the field, then the key. */
  order: string[];
  hasPages: boolean;
  /** SQL conditions in addition to the cursor's. */
  conditions: string[];
  /** Rows whose cursor value moves nothing; null if there are none. */
  odd: OddCursors | null;
  /** Minimum age of a row. */
  lagSeconds: number;
};

async function planOf(
  session: PostgresSession,
  table: PostgresStream,
  { mode, cursorField, fields }: Reading,
): Promise<Plan> {
  const { lag_seconds: lagSeconds } = session.settings;
  const columns = table.columns.filter((each) => fields === null || fields.includes(each.name));
  const stream = { ...table, columns };
  if (mode === 'full')
    return { stream, order: stream.key, hasPages: stream.key.length > 0, conditions: [], odd: null, lagSeconds: 0 };
  const column = table.columns.find((candidate) => candidate.name === cursorField);
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

/** Conditions that leave young rows to the next reading, which would miss a row that commits late. */
function lagOf({ name: column, kind }: PostgresColumn, lagSeconds: number): string[] {
  if (kind.time === undefined || lagSeconds === 0) return [];
  const until = `now() - make_interval(secs => ${lagSeconds})`;
  return [kind.time === 'instant' ? `${name(column)} <= ${until}` : `${name(column)} < (${until})::date`];
}

type OddCursors = {
  /** SQL condition for odd values that an index over the column answers. */
  condition: string;
  /** Returns whether nothing new would come after a value, given as Postgres writes it. */
  isStuckAt(value: string): Promise<boolean>;
};

/** Version since which numerics have infinities; all versions have NaN, the greatest value. */
const WITH_INFINITIES = 140_000;

/** Returns the values of a column that never move a cursor; null for a type without such values. */
async function oddCursorsOf({ client }: PostgresSession, { name, kind }: PostgresColumn): Promise<OddCursors | null> {
  const column = pg.escapeIdentifier(name);
  if (kind.time !== undefined) {
    const latest = `now() + make_interval(secs => ${AHEAD_MS / 1_000})`;
    const limit = kind.time === 'instant' ? latest : `(${latest})::date`;
    const type = kind.time === 'instant' ? 'timestamptz' : 'date';
    return {
      condition: `(${column} > ${limit} OR ${column} = '-infinity')`,
      async isStuckAt(value) {
        const { rows } = await client.query<{ stuck: string }>(`SELECT ($1::${type} > ${limit})::text AS stuck`, [
          value,
        ]);
        return rows[0]!.stuck === 'true';
      },
    };
  }
  if (kind.type !== 'number') return null;
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
  const hasInfinities = Number(rows[0]!.version) >= WITH_INFINITIES;
  return {
    condition: hasInfinities ? `(${column} >= 'Infinity' OR ${column} = '-Infinity')` : `${column} = 'NaN'`,
    isStuckAt: async (value) => value === 'NaN' || value === 'Infinity',
  };
}

/** Values of `order` in the last row of a batch, as Postgres writes them. */
const PostgresCursor = z.array(z.string()).min(1);

type PostgresCursor = z.output<typeof PostgresCursor>;

/** Returns the cursor, unless it stands at an odd value, after which nothing new would come. */
async function cursorBehind(plan: Plan, reading: Reading, context: ConnectorContext): Promise<PostgresCursor | null> {
  const after = cursorOf(plan, reading);
  if (after === null || !(await plan.odd?.isStuckAt(after[0]!))) return after;
  context.log(sayStuckCursor(plan.order[0]!));
  return null;
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

/** Estimates the number of rows to read by Postgres' planner: counting them would take as long as reading them. */
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

/** Progress never exceeds a low estimate: the rest is unknown. */
const doneAfter = (expected: number) => (rows: number) => Math.min(rows / Math.max(1, expected), 0.99);

/** Number of rows, and approximate bytes, of a statement and its snapshot. */
const PAGE_ROWS = 100_000;

const FIRST_PAGE_ROWS = BATCH_ITEMS;

const PAGE_BYTES = 256 * 1024 * 1024;

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

/** Reads in one statement; without a key, rows with the field's last value come again. */
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

const name = pg.escapeIdentifier;

/** Selects the order's columns first: of a row that is too wide only the beginning is kept. */
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

const newRows = ({ conditions }: Plan, where: string[]) => [...conditions, ...where].join(' AND ') || 'true';

const behind = ({ order }: Plan, after: PostgresCursor) =>
  `(${order.map(name).join(', ')}) > (${after.map(pg.escapeLiteral).join(', ')})`;

const notBefore = ({ order }: Plan, from: PostgresCursor) => `${name(order[0]!)} >= ${pg.escapeLiteral(from[0]!)}`;

/** Yields batches of rows; if all are odd, with the cursor `from`. */
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

/** Maximum length of a cursor value; no index of Postgres holds a longer one. */
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

/** A row as COPY writes it: the columns' texts, null for NULL. A row that is too wide has only its first columns. */
type PostgresRow = { cells: (string | null)[]; line: Buffer; isCut: boolean };

/** Maximum size of a row that is read whole. */
const MAX_ROW_BYTES = BATCH_BYTES;

/** Size that is kept of a wider row: more than the columns of a key, which come first. */
const KEPT_BYTES = 64 * 1024;

const NEW_LINE = 10;

/**
 * Yields the rows of a SELECT; the server sends more only when they have been taken. `statement_timeout_seconds` bounds
 * the wait for the server, not the reader's pauses; in that time, or in that of the least rate if longer, the rows must
 * bring its bytes.
 */
async function* postgresRows(session: PostgresSession, select: string): AsyncGenerator<PostgresRow[]> {
  await session.client.query('SET LOCAL statement_timeout = 0');
  await watchForUs(session);
  const splitter = lineSplitter();
  const chunks = session.client
    .query(copyTo(`COPY (${select}) TO STDOUT`))
    [Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const rateMs = Math.max(session.settings.statement_timeout_seconds * 1000, session.leastRate.withinMs);
  let [bytes, waitedMs] = [0, 0];
  for (;;) {
    const began = performance.now();
    const { done, value } = await inTime(session, rateMs - waitedMs, () => chunks.next());
    if (done) return;
    bytes += value.length;
    waitedMs += performance.now() - began;
    if (bytes >= session.leastRate.leastBytes) [bytes, waitedMs] = [0, 0];
    const rows = splitter(value);
    if (rows.length > 0) yield rows;
  }
}

/** Makes the server end an abandoned statement, if it can (Postgres 14, on most systems). */
async function watchForUs({ client }: PostgresSession): Promise<void> {
  try {
    await client.query('SAVEPOINT unwatched; SET LOCAL client_connection_check_interval = 5000');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    await client.query('ROLLBACK TO unwatched');
  }
}

async function inTime<T>(session: PostgresSession, rateMs: number, wait: () => Promise<T>): Promise<T> {
  const { host, statement_timeout_seconds: seconds } = session.settings;
  const advice = 'an index on the columns that it sorts by helps, or a larger statement_timeout_seconds';
  const isRate = rateMs < seconds * 1000;
  const { leastBytes, withinMs } = session.leastRate;
  const words = isRate
    ? `sent less than ${leastBytes / 1024} KiB of rows within ${Math.max(seconds, withinMs / 1000)} s`
    : `sent no row within ${seconds} s`;
  const timer = setTimeout(
    () => session.breakOff(sourceRefusal('source_unavailable', `${host} ${words}: ${advice}`)),
    Math.max(0, isRate ? rateMs : seconds * 1000),
  );
  try {
    return await wait();
  } finally {
    clearTimeout(timer);
  }
}

/** Makes rows from chunks, and holds at most MAX_ROW_BYTES of a row. */
function lineSplitter(): (chunk: Buffer) => PostgresRow[] {
  let begun: Buffer[] = [];
  let size = 0;
  const take = (piece: Buffer) => {
    size += piece.length;
    if (size <= MAX_ROW_BYTES) begun.push(piece);
    // From here on only its beginning is needed.
    else if (size - piece.length <= MAX_ROW_BYTES) begun = [beginningOf([...begun, piece])];
  };
  return (chunk) => {
    const rows: PostgresRow[] = [];
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(NEW_LINE, from);
      take(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) break;
      rows.push(toRow(begun.length === 1 ? begun[0]! : Buffer.concat(begun), size > MAX_ROW_BYTES));
      begun = [];
      size = 0;
      from = end + 1;
    }
    return rows;
  };
}

const beginningOf = (pieces: Buffer[]) => Buffer.from(Buffer.concat(pieces).subarray(0, KEPT_BYTES));

function toRow(line: Buffer, isCut: boolean): PostgresRow {
  return { line, isCut, cells: line.toString('utf8').split('\t').map(cellOf) };
}

const ESCAPED: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Reads a cell of COPY's text format (Postgres: COPY). */
function cellOf(text: string): string | null {
  if (text === '\\N') return null;
  return text.includes('\\') ? text.replace(/\\(.)/gs, (_, letter: string) => ESCAPED[letter] ?? letter) : text;
}
