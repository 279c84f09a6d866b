/** Sources of exported data: reads the rows of a type within a window in bounded pieces, and counts them. */
import pg from 'pg';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { APPEND_ONLY, type ExportDataType } from '../../domain/exports/export-data-type.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { isLogKept } from '../attributes/attribute-change-log.ts';
import type { Queryable } from '../core/database.ts';
import { listPartitions, nameOf } from '../tracking/event-partitions.ts';
import type { ExportSession } from './export-session.ts';
import {
  attributes,
  IS_AMBIGUOUS_SET,
  listNamedAttributes,
  type LogCheckpoint,
  sliceLog,
} from './export-sources/attributes.ts';
import { campaignResults } from './export-sources/campaign-results.ts';
import { crashes } from './export-sources/crashes.ts';
import { details } from './export-sources/details.ts';
import { devices } from './export-sources/devices.ts';
import { type ExportScope, literal } from './export-sources/export-scope.ts';
import { locations } from './export-sources/locations.ts';
import { logs } from './export-sources/logs.ts';
import { copyStatement } from './export-sources/printed.ts';
import { sessions, sessionsWithCarrier } from './export-sources/sessions.ts';
import type { TableSource } from './export-sources/table-source.ts';

export type { ExportScope } from './export-sources/export-scope.ts';

export type Checkpoint = Record<string, string | number>;

export type Slice = { statement: string; next: Checkpoint };

const SOURCES: Record<Exclude<ExportDataType, 'attributes'>, TableSource> = {
  sessions,
  sessions_with_carrier: sessionsWithCarrier,
  logs,
  details,
  locations,
  devices,
  crashes,
  campaign_results_per_user: campaignResults,
};

/**
 * Yields the window's rows in pieces of thousands, each once, from `from` on. A window over `received_at` is closed: a
 * row still written into it is late, and a row that changes leaves it. For other windows see `isReadAtOnce`.
 */
export async function* slicesOf(
  session: ExportSession,
  type: ExportDataType,
  scope: ExportScope,
  from: Checkpoint | null,
): AsyncGenerator<Slice> {
  if (isOfNothing(type, scope)) return;
  if (type !== 'attributes') {
    yield* sliceTable(session, SOURCES[type], scope, from as TableLocation | null);
    return;
  }
  const named = await listNamedAttributes(session, scope);
  if (!(await isReadByLog(session, scope, from)))
    yield* sliceTable(session, attributes(named), scope, from as TableLocation | null);
  else
    for await (const { statement, next } of sliceLog(session, named, scope, from as LogCheckpoint | null))
      yield { statement, next };
}

/** Returns whether rows may change and stay in the window: then one snapshot must read them from the start. */
export function isReadAtOnce(type: ExportDataType, { window }: Pick<ExportScope, 'window'>): boolean {
  return window.kind === 'happened' && !APPEND_ONLY.has(type);
}

export async function countExpected(session: ExportSession, type: ExportDataType, scope: ExportScope): Promise<number> {
  if (isOfNothing(type, scope)) return 0;
  if (type === 'attributes') return countAttributes(session, scope, {});
  return countInTable(session, SOURCES[type], scope);
}

/** Counts Sets whose text in CSV gives other elements back; null: of other types and formats. */
export async function countAmbiguousSets(
  session: ExportSession,
  type: ExportDataType,
  scope: ExportScope,
): Promise<number | null> {
  if (type !== 'attributes' || scope.format !== 'csv') return null;
  return isOfNothing(type, scope)
    ? 0
    : countAttributes(session, scope, { valueType: 'Set', condition: IS_AMBIGUOUS_SET });
}

type Counted = { valueType?: ValueType; condition?: string };

async function countAttributes(
  session: ExportSession,
  scope: ExportScope,
  { valueType, condition }: Counted,
): Promise<number> {
  const named = await listNamedAttributes(session, scope, valueType);
  if (named.size === 0) return 0;
  if (!(await isReadByLog(session, scope, null))) {
    const table = attributes(named);
    return condition === undefined ? countInTable(session, table, scope) : countWhere(session, table, scope, condition);
  }
  let total = 0;
  for await (const { source } of sliceLog(session, named, scope, null)) {
    const { rows } = await session.query<{ count: number }>(
      `SELECT count(*) AS count ${source} WHERE ${condition ?? true}`,
    );
    total += rows[0]!.count;
  }
  return total;
}

/** Counts rows of the window that were committed after the snapshot; null if that is unknown. */
export async function countLate(
  session: ExportSession,
  type: ExportDataType,
  scope: ExportScope,
  snapshot: string,
): Promise<number | null> {
  if (type === 'attributes' || !APPEND_ONLY.has(type)) return null;
  if (isOfNothing(type, scope)) return 0;
  const isLater = await isLaterThan(session, snapshot);
  return isLater === null ? null : countWhere(session, SOURCES[type], scope, isLater);
}

/** Returns the current snapshot as text; transaction numbers mean something in one cluster only. */
export async function findSnapshot(session: Queryable): Promise<string> {
  const { rows } = await session.query<{ database: string; snapshot: string }>(
    `SELECT ${DATABASE} AS database, pg_current_snapshot()::text AS snapshot`,
  );
  return `${rows[0]!.database}/${rows[0]!.snapshot}`;
}

const DATABASE = `(SELECT system_identifier FROM pg_control_system()) || '.' ||
  (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Returns SQL for whether a row `r` was written after a snapshot; null for a snapshot of another database. */
async function isLaterThan(session: Queryable, kept: string): Promise<string | null> {
  const [database, snapshot] = kept.split('/') as [string, string];
  const { rows } = await session.query<{ database: string }>(`SELECT ${DATABASE} AS database`);
  if (rows[0]!.database !== database) return null;
  // All before its first number had ended. A row has the lower half of its transaction's; age() compares halves.
  const first = snapshot.slice(0, snapshot.indexOf(':'));
  const ageOfFirst = `age(${literal(String(BigInt(first) % 2n ** 32n))}::xid)`;
  const number = `(${literal(first)}::bigint + ${ageOfFirst} - age(r.xmin))::text::xid8`;
  return `CASE WHEN age(r.xmin) > ${ageOfFirst} THEN false
    ELSE NOT pg_visible_in_snapshot(${number}, ${literal(snapshot)}::pg_snapshot) END`;
}

function isOfNothing(type: ExportDataType, { apps, sors }: ExportScope): boolean {
  return (type === 'attributes' ? sors : apps).length === 0;
}

/** Longest step of a run, with a day to spare: until then the log must exist. */
const LONGEST_READING_MS = 8 * DAY_MS;

/** Returns whether the log is read. A reading that continues keeps the way it began with. */
async function isReadByLog(
  session: ExportSession,
  { window: { start } }: ExportScope,
  from: Checkpoint | null,
): Promise<boolean> {
  if (from !== null) return 'changedSince' in from;
  return start !== null && isLogKept(session, new Date(start.getTime() - LONGEST_READING_MS).toISOString());
}

/** The start of the next file: a block of a table or of a month's partition. No personal data. */
type TableLocation = { month: string; block: number };

/** Slices begin at multiples of this, so that a reading that continues in the middle finds the same ones. */
const SLICE_BLOCKS = 128;

type Part = { month: string; name: string };

type Look = { count: number; blocks: { first: number; last: number } | null };

/** The parts of a table that may have rows of the window, in the order of time. */
async function listParts(
  session: Queryable,
  { table, isPartitioned }: TableSource,
  { window }: ExportScope,
): Promise<Part[]> {
  if (!isPartitioned) return [{ month: '', name: table }];
  const partitions = (await listPartitions(session))
    .filter((partition) => partition.table === table)
    .map((partition) => ({ month: partition.month, name: nameOf(partition) }));
  if (window.kind === 'received') return partitions;
  const monthOf = (moment: Date) => moment.toISOString().slice(0, 7);
  return partitions.filter(
    ({ month }) => month <= monthOf(window.end) && (window.start === null || month >= monthOf(window.start)),
  );
}

async function countInTable(session: Queryable, source: TableSource, scope: ExportScope): Promise<number> {
  let total = 0;
  for (const part of await listParts(session, source, scope)) {
    const look = await lookAt(session, source, scope, part);
    keptLooks(session).set(lookOf(source, scope, part), look);
    total += look.count;
  }
  return total;
}

const kept = new WeakMap<Queryable, Map<string, Look>>();

function keptLooks(session: Queryable): Map<string, Look> {
  if (!kept.has(session)) kept.set(session, new Map());
  return kept.get(session)!;
}

const lookOf = (source: TableSource, scope: ExportScope, { name }: Part): string =>
  `SELECT min(r.ctid)::text AS first, max(r.ctid)::text AS last, count(*) AS count
   FROM ${pg.escapeIdentifier(name)} r ${source.countedJoins(scope)} WHERE ${source.condition(scope)}`;

async function countWhere(
  session: Queryable,
  source: TableSource,
  scope: ExportScope,
  condition: string,
): Promise<number> {
  let total = 0;
  for (const { name } of await listParts(session, source, scope)) {
    const [found] = await readWhole<{ count: number }>(
      session,
      `SELECT count(*) AS count FROM ${pg.escapeIdentifier(name)} r ${source.countedJoins(scope)}
       WHERE ${source.condition(scope)} AND ${condition}`,
    );
    total += found!.count;
  }
  return total;
}

/** Counts a narrow window by the BRIN index on received_at. */
async function lookAt(session: Queryable, source: TableSource, scope: ExportScope, part: Part): Promise<Look> {
  const [found] = await readWhole<{ first: string | null; last: string | null; count: number }>(
    session,
    lookOf(source, scope, part),
  );
  const { first, last, count } = found!;
  return { count, blocks: first === null ? null : { first: blockOf(first), last: blockOf(last!) } };
}

const blockOf = (place: string): number => Number(/\d+/.exec(place)![0]);

/** Reads rows as they lie, each slice by one statement, so that no transaction lasts. */
async function* sliceTable(
  session: Queryable,
  source: TableSource,
  scope: ExportScope,
  from: TableLocation | null,
): AsyncGenerator<{ statement: string; next: TableLocation }> {
  for (const part of await listParts(session, source, scope)) {
    if (from !== null && part.month < from.month) continue;
    const known = keptLooks(session).get(lookOf(source, scope, part));
    keptLooks(session).delete(lookOf(source, scope, part));
    const { blocks } = known ?? (await lookAt(session, source, scope, part));
    if (blocks === null) continue;
    const begun = from?.month === part.month ? from.block : 0;
    for (let block = Math.max(begun, startOfSlice(blocks.first)); block <= blocks.last;) {
      const end = startOfSlice(block) + SLICE_BLOCKS;
      yield { statement: statementOf(source, scope, part, block, end), next: { month: part.month, block: end } };
      block = end;
    }
  }
}

const startOfSlice = (block: number): number => block - (block % SLICE_BLOCKS);

/** Scans a range of blocks; CASE hides the condition from indexes, which would read the whole window each time. */
function statementOf(source: TableSource, scope: ExportScope, { name }: Part, block: number, end: number): string {
  return copyStatement(
    `SELECT ${source.columns(scope)} FROM ${pg.escapeIdentifier(name)} r ${source.joins(scope)}
     WHERE r.ctid >= ${literal(`(${block},0)`)}::tid AND r.ctid < ${literal(`(${end},0)`)}::tid
       AND CASE WHEN ${source.condition(scope)} THEN true ELSE false END`,
    scope.format,
  );
}

async function readWhole<Row extends pg.QueryResultRow>(session: Queryable, statement: string): Promise<Row[]> {
  await session.query('SET enable_seqscan = on');
  const { rows } = await session.query<Row>(statement);
  await session.query('SET enable_seqscan = off');
  return rows;
}
