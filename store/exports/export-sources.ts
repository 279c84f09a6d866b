/**
 * Sources of exported data: reads the rows of a type within a window in bounded pieces, and counts them; values of
 * attributes as they are, or by the log of their changes.
 */
import pg from 'pg';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { APPEND_ONLY, type ExportDataType } from '../../domain/exports/export-data-type.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { isLogKept } from '../attributes/attribute-change-log.ts';
import { CUSTOMER_TYPE_CODE } from '../attributes/attribute-values.ts';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { isoUtc } from '../core/iso-time.ts';
import { listPartitions, nameOf } from '../tracking/event-partitions.ts';
import type { ExportSession } from './export-session.ts';
import { campaignResults } from './export-sources/campaign-results.ts';
import { crashes } from './export-sources/crashes.ts';
import { details } from './export-sources/details.ts';
import { devices } from './export-sources/devices.ts';
import { type ExportScope, literal, inWindow, literalList } from './export-sources/export-scope.ts';
import { locations } from './export-sources/locations.ts';
import { logs } from './export-sources/logs.ts';
import { copyStatement, selectList } from './export-sources/printed.ts';
import { sessions, sessionsWithCarrier } from './export-sources/sessions.ts';
import { type TableSource, noJoins } from './export-sources/table-source.ts';

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

type NamedAttributes = ReadonlyMap<number, readonly [sor: string, attribute: string, key: string]>;

async function listNamedAttributes(
  session: Queryable,
  { entityId, sors }: ExportScope,
  valueType?: ValueType,
): Promise<NamedAttributes> {
  const { rows } = await session.query<Row<'customer_attributes', 'id' | 'key'> & { sor: string; attribute: string }>(
    `SELECT a.id, s.identifier AS sor, a.identifier AS attribute, a.key
     FROM customer_attributes a JOIN systems_of_records s ON s.entity_id = a.entity_id AND s.id = a.sor_id
     WHERE a.entity_id = $1 AND a.sor_id = ANY ($2) AND a.deleted_at IS NULL AND s.deleted_at IS NULL
       AND ($3::text IS NULL OR a.value_type = $3) ORDER BY a.id`,
    [entityId, sors.map(({ id }) => id), valueType ?? null],
  );
  return new Map(rows.map(({ id, sor, attribute, key }) => [id, [sor, attribute, key]]));
}

/** Returns SQL for the names of a row `r`; a JSON map is searched by halves, a join takes twice as long. */
function joinNames(named: NamedAttributes): string {
  const byId = literal(JSON.stringify(Object.fromEntries(named)));
  return `CROSS JOIN LATERAL (SELECT ${byId}::jsonb -> r.attribute_id::text AS names OFFSET 0) named`;
}

/** A value as an import reads it (docs/imports.md, "Values"); removed: NULL, a Set without elements: empty. */
const VALUE = `coalesce(r.string_value, r.number_value::text, r.boolean_value::text, r.date_value::text, ${isoUtc('r.datetime_value')},
  array_to_string(r.set_elements, ';'))`;

/** True: the text of row `r`'s Set is ambiguous, since an element has a `;` or is empty. */
const IS_AMBIGUOUS_SET = `(strpos(array_to_string(r.set_elements, ''), ';') > 0 OR '' = ANY (r.set_elements))`;

/** A Set as an array: an element may contain the delimiter. */
const JSON_VALUE = `CASE WHEN r.set_elements IS NULL THEN to_json(${VALUE}) ELSE to_json(r.set_elements) END`;

const CUSTOMER_TYPE = `CASE r.customer_type ${Object.entries(CUSTOMER_TYPE_CODE)
  .map(([type, code]) => `WHEN ${code} THEN ${literal(type)}`)
  .join(' ')} END`;

const attributeColumns = ({ format }: ExportScope): string =>
  selectList(
    'attributes',
    {
      system_of_record_identifier: 'named.names ->> 0',
      customer_attribute_identifier: 'named.names ->> 1',
      customer_attribute_key: 'named.names ->> 2',
      customer_attribute_value: format === 'jsonl' ? JSON_VALUE : VALUE,
      customer_id_type: CUSTOMER_TYPE,
      customer_id: 'r.customer_id',
      changed_at: 'r.changed_at',
      removed: 'r.removed_at IS NOT NULL',
      customer_attribute_elements: 'r.set_elements',
    },
    format,
  );

/** Returns the source of existing values; a removal dates `changed_at`, too. */
const attributes = (named: NamedAttributes): TableSource => ({
  table: 'attribute_values',
  isPartitioned: false,
  condition: ({ entityId, sors, window }) =>
    `r.entity_id = ${literal(entityId)} AND r.sor_id = ${literalList(sors.map(({ id }) => id))}
     AND r.attribute_id = ${literalList([...named.keys()])} AND ${inWindow('r.changed_at', window)}`,
  joins: () => joinNames(named),
  countedJoins: noJoins,
  columns: attributeColumns,
});

/** Continues after this moment, in Postgres's text with its microseconds. No customer's id. */
type LogCheckpoint = { changedSince: string };

/** Bytes that one statement reads of the log: some thousand customers, or one transaction's changes. */
const BYTES_AT_ONCE = 256 * 1024;

const MOMENTS = 1_000;

type Moment = { at: string; bytes: number };

async function* sliceLog(
  session: Queryable,
  named: NamedAttributes,
  scope: ExportScope,
  from: LogCheckpoint | null,
): AsyncGenerator<{ source: string; statement: string; next: LogCheckpoint }> {
  const end = scope.window.end.toISOString();
  let since = from?.changedSince ?? scope.window.start!.toISOString();
  let bytes = 0;
  for (let unread = since; ;) {
    const moments = await listMoments(session, scope, unread);
    const isEnd = moments.length < MOMENTS;
    for (const [index, moment] of (isEnd ? moments : moments.slice(0, -1)).entries()) {
      bytes += moment.bytes;
      const next = moments[index + 1]?.at ?? end;
      if (bytes < BYTES_AT_ONCE && next !== end) continue;
      const source = changedFrom(scope, named, since, next);
      const statement = copyStatement(`SELECT ${attributeColumns(scope)} ${source}`, scope.format);
      yield { source, statement, next: { changedSince: next } };
      since = next;
      bytes = 0;
    }
    if (isEnd) return;
    unread = moments.at(-1)!.at;
  }
}

/** Lists the next moments at which something of the scope's SoRs changed, by the log's key. */
async function listMoments(session: Queryable, scope: ExportScope, since: string): Promise<Moment[]> {
  const { rows } = await session.query<Moment>(
    `SELECT received_at::text AS at, sum(pg_column_size(customer_ids))::bigint AS bytes FROM attribute_change_log
     WHERE ${inLog(scope)} AND received_at >= ${literal(since)}::timestamptz
     GROUP BY received_at ORDER BY received_at LIMIT ${MOMENTS}`,
  );
  return rows;
}

function inLog({ entityId, sors, window }: ExportScope): string {
  return `entity_id = ${literal(entityId)} AND sor_id = ${literalList(sors.map(({ id }) => id))} AND ${inWindow('received_at', window)}`;
}

/** Reads each customer's values by key; those dated as the entry belong to it, others changed again since. */
function changedFrom(scope: ExportScope, named: NamedAttributes, since: string, until: string): string {
  return `FROM (
      SELECT DISTINCT l.received_at, l.sor_id, u.customer_id, l.customer_type
      FROM attribute_change_log l CROSS JOIN LATERAL unnest(l.customer_ids) AS u (customer_id)
      WHERE ${inLog(scope)} AND l.received_at >= ${literal(since)}::timestamptz AND l.received_at < ${literal(until)}::timestamptz
        AND u.customer_id IS NOT NULL
      ORDER BY l.received_at, l.sor_id, u.customer_id, l.customer_type OFFSET 0) k
    CROSS JOIN LATERAL (
      SELECT v.* FROM attribute_values v
      WHERE v.entity_id = ${literal(scope.entityId)} AND v.sor_id = k.sor_id AND v.customer_id = k.customer_id
        AND v.customer_type = k.customer_type AND v.changed_at = k.received_at AND v.attribute_id = ${literalList([...named.keys()])}
      ORDER BY v.attribute_id OFFSET 0) r ${joinNames(named)}`;
}
