import { CUSTOMER_TYPES, type CustomerType } from '../../domain/attributes/customer-id.ts';
import { COMPLETE_UNTIL } from '../core/complete-until.ts';
import { type Database, type Queryable, read, type Tx, write } from '../core/database.ts';
import { changeRows, type Tally } from '../core/in-batches.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';

/** How long the log is kept. Older changes are found by looking at each customer. */
const LOG_KEPT_DAYS = 40;

/** A moment as Postgres writes it: a JavaScript Date would cut its microseconds off. */
export type Instant = string;

/** After this entry's customer of this ordinal, counted from 1. */
export type LogPosition = { receivedAt: Instant; id: number; ordinal: number };

/** A scan over the changes since a moment, up to another one. */
export type LogScan = { since: Instant; upTo: Instant; customerType: CustomerType | null; sorIds: readonly number[] };

/** A customer some of whose values changed since that moment. */
export type ChangedCustomer = Person & { since: Instant };

/** Most entries and customers that one page looks at. */
const ENTRIES = 2_000;
const LOGGED_CUSTOMERS = 10_000;

/** An entry for each customer type, of those `isNew` another one: they had no such value. */
export async function insertChanges(
  tx: Tx,
  entityId: number,
  sorId: number,
  customers: readonly (Person & { isNew: boolean })[],
): Promise<void> {
  if (customers.length === 0) return;
  await tx.query(
    `INSERT INTO attribute_change_log (entity_id, sor_id, customer_type, customer_ids, pending)
     SELECT $1, $2, customer_type, array_agg(customer_id), is_new
     FROM unnest($3::text[] COLLATE "C", $4::smallint[], $5::boolean[]) AS changed (customer_id, customer_type, is_new)
     GROUP BY customer_type, is_new`,
    [
      entityId,
      sorId,
      customers.map(({ customerId }) => customerId),
      customers.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
      customers.map(({ isNew }) => isNew),
    ],
  );
}

export type ScanStart = { now: Instant; until: Instant; isLogged: boolean };

/**
 * What a scan over the changes since a moment begins with: now, the moment that the scan after it begins with (before
 * it every change there is was committed, and is seen by this scan), and whether the log still tells of all of them. A
 * date to come is not handed on: whoever kept it would be told of nothing until then.
 */
export async function findScanStart(db: Queryable, since: Instant): Promise<ScanStart> {
  const { rows } = await db.query<{ now: string; until: string; is_logged: boolean }>(
    `SELECT now()::text AS now, $1::timestamptz > now() - make_interval(days => $2) AS is_logged,
       to_char(date_trunc('milliseconds', greatest(CASE WHEN $1 <= now() THEN $1::timestamptz END,
         ${COMPLETE_UNTIL})),
         'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS until`,
    [since, LOG_KEPT_DAYS - 1],
  );
  return { now: rows[0]!.now, until: rows[0]!.until, isLogged: rows[0]!.is_logged };
}

export async function isLogKept(db: Queryable, from: Instant): Promise<boolean> {
  const { rows } = await db.query<{ kept: boolean }>(
    'SELECT $1::timestamptz > now() - make_interval(days => $2) AS kept',
    [from, LOG_KEPT_DAYS],
  );
  return rows[0]!.kept;
}

/** What one short transaction takes of the log: many small entries, or one or two of large imports. */
const ENTRIES_AT_ONCE = 1_000;
const BYTES_AT_ONCE = 2 * 1024 ** 2;

/** Keys of the first entries, few enough for one transaction. Their size is told without reading the arrays. */
export function firstEntries(condition: string, order: 'id' | 'received_at, id'): string {
  return `SELECT received_at, id FROM (
    SELECT received_at, id, sum(size) OVER (ORDER BY ${order}) - size AS bytes_before FROM (
      SELECT received_at, id, pg_column_size(customer_ids) AS size FROM attribute_change_log
      WHERE ${condition} ORDER BY ${order} LIMIT ${ENTRIES_AT_ONCE}) AS first) AS sized
  WHERE bytes_before < ${BYTES_AT_ONCE}`;
}

/** People by type: users, devices. */
export type PeopleByType = readonly [
  users: readonly string[],
  devices: readonly string[],
  wholeDevices: readonly string[],
];

type EntryKey = { at: Instant; id: number };
type EntryRange = { after: EntryKey; last: EntryKey };

/**
 * All entries of an entity, or those older than some days, by ranges that are each small enough for one transaction.
 * None begins from the front again, where what was deleted may still lie.
 */
async function* entryRanges(
  db: Database,
  entityId: number,
  olderThanDays: number | null = null,
): AsyncGenerator<EntryRange> {
  for (let after: EntryKey = { at: '-infinity', id: 0 }; ;) {
    const last = await read(db, (tx) => findRangeEnd(tx, entityId, after, olderThanDays));
    if (!last) return;
    yield { after, last };
    after = last;
  }
}

async function findRangeEnd(
  tx: Tx,
  entityId: number,
  { at, id }: EntryKey,
  olderThanDays: number | null,
): Promise<EntryKey | null> {
  await tx.query(LOOK_UP_BY_KEY);
  const entries = firstEntries(
    `entity_id = $1 AND (received_at, id) > ($2::timestamptz, $3::bigint)
     AND ($4::integer IS NULL OR received_at < now() - make_interval(days => $4))`,
    'received_at, id',
  );
  const { rows } = await tx.query<EntryKey>(
    `SELECT received_at::text AS at, id FROM (${entries}) AS range ORDER BY received_at DESC, range.id DESC LIMIT 1`,
    [entityId, at, id, olderThanDays],
  );
  return rows[0] ?? null;
}

const IN_RANGE = `entity_id = $1 AND (received_at, id) > ($2::timestamptz, $3::bigint)
  AND (received_at, id) <= ($4::timestamptz, $5::bigint)`;

function rangeKeys(entityId: number, { after, last }: EntryRange): unknown[] {
  return [entityId, after.at, after.id, last.at, last.id];
}

/**
 * An array that is a parameter is hashed: 100 people take as long as ten. A device that asks for itself ($8) has sent
 * nothing to a custom System of Records.
 */
const IS_ONE_OF_THEM = `CASE customer_type WHEN 0 THEN u.customer_id = ANY ($6::text[])
  ELSE u.customer_id = ANY ($7::text[]) AND (u.customer_id <> ALL ($8::text[]) OR sor_id IN (
    SELECT s.id FROM systems_of_records s WHERE s.entity_id = $1 AND s.type <> 'custom')) END`;
const TELLS_OF_THEM = `EXISTS (SELECT FROM unnest(customer_ids) AS u (customer_id) WHERE ${IS_ONE_OF_THEM})`;

/** How many entries tell of any of these people. */
export async function countLogged(db: Database, entityId: number, people: PeopleByType): Promise<number> {
  let total = 0;
  for await (const range of entryRanges(db, entityId)) {
    const { rows } = await db.query<{ count: number }>(
      `SELECT count(*) FROM attribute_change_log WHERE ${IN_RANGE} AND ${TELLS_OF_THEM}`,
      [...rangeKeys(entityId, range), ...people],
    );
    total += rows[0]!.count;
  }
  return total;
}

/** When something of any of these people changed: once an entry and person, oldest first. */
export async function* listLogged(
  db: Database,
  entityId: number,
  people: PeopleByType,
): AsyncGenerator<Record<string, unknown>> {
  for await (const range of entryRanges(db, entityId)) {
    const { rows } = await db.query(
      `SELECT l.received_at, t.customer_id FROM attribute_change_log l CROSS JOIN LATERAL (
         SELECT DISTINCT u.customer_id FROM unnest(customer_ids) AS u (customer_id) WHERE ${IS_ONE_OF_THEM}) AS t
       WHERE ${IN_RANGE} ORDER BY l.received_at, l.id`,
      [...rangeKeys(entityId, range), ...people],
    );
    yield* rows;
  }
}

/**
 * Takes people out of all entries, each step a short transaction of its own, and tells of how many. NULL stays in their
 * place: a scan under way goes by the places.
 */
export async function eraseFromChangeLog(
  db: Database,
  entityId: number,
  people: PeopleByType,
  tally?: Tally,
): Promise<number> {
  let total = 0;
  for await (const range of entryRanges(db, entityId)) {
    total += await writeRange(
      db,
      `UPDATE attribute_change_log SET customer_ids = ARRAY(
         SELECT CASE WHEN ${IS_ONE_OF_THEM} THEN NULL ELSE u.customer_id END
         FROM unnest(customer_ids) WITH ORDINALITY AS u (customer_id, ordinal) ORDER BY u.ordinal)
       WHERE ${IN_RANGE} AND ${TELLS_OF_THEM}`,
      [...rangeKeys(entityId, range), ...people],
      tally,
    );
  }
  return total;
}

/** Deletes the entries whose time is over, in short transactions. */
export async function deleteOldEntries(db: Database, entityId: number): Promise<void> {
  for await (const range of entryRanges(db, entityId, LOG_KEPT_DAYS)) {
    await writeRange(
      db,
      `DELETE FROM attribute_change_log WHERE ${IN_RANGE} AND NOT pending`,
      rangeKeys(entityId, range),
    );
  }
}

function writeRange(db: Database, statement: string, parameters: unknown[], tally?: Tally): Promise<number> {
  return write(db, (tx) => changeRows(tx, statement, parameters, tally), { settings: LOOK_UP_BY_KEY });
}

type ChangeRow = {
  received_at: string;
  id: number;
  ordinal: number | null;
  customer_type: number;
  customer_id: string;
  since: string;
};

/**
 * The next customers of the log, at most `limit` distinct ones, and where to go on: null at the end of the scan. An
 * entry of a transaction that began before `since` counts where it was committed after.
 */
export async function listChanges(
  tx: Tx,
  entityId: number,
  scan: LogScan,
  after: LogPosition | null,
  limit: number,
): Promise<{ changed: ChangedCustomer[]; next: LogPosition | null }> {
  await tx.query(LOOK_UP_BY_KEY);
  // A range of the primary key, of which arrays are read until LIMIT: neither CTE nor unnest changes its order. A
  // customer stands in an array once for each of his values that changed.
  const { rows } = await tx.query<ChangeRow>(
    `WITH entries AS MATERIALIZED (
       SELECT * FROM attribute_change_log
       WHERE entity_id = $1 AND received_at <= $3
         AND (received_at, id) >= (coalesce($6::timestamptz, $2::timestamptz - interval '30 seconds'), $7::bigint)
       ORDER BY received_at, id LIMIT ${ENTRIES}
     ), listed AS (
       SELECT e.received_at, e.id, u.ordinal, e.customer_type, u.customer_id, least(e.received_at, $2) AS since
       FROM entries e CROSS JOIN LATERAL (
         SELECT customer_id, ordinal, lag(customer_id) OVER () AS previous
         FROM unnest(e.customer_ids) WITH ORDINALITY AS all_of (customer_id, ordinal)) u
       WHERE (e.received_at >= $2 OR e.committed_at >= $2) AND ($4::smallint IS NULL OR e.customer_type = $4)
         AND e.sor_id = ANY ($5) AND u.customer_id IS NOT NULL AND u.customer_id IS DISTINCT FROM u.previous
         AND ((e.received_at, e.id) > ($6, $7) OR $6 IS NULL OR u.ordinal > $8)
       LIMIT ${LOGGED_CUSTOMERS})
     SELECT received_at::text, id, ordinal::integer, customer_type, customer_id, since::text FROM listed
     UNION ALL
     (SELECT received_at::text, id, NULL, 0, '', '' FROM entries OFFSET ${ENTRIES - 1})`,
    [
      entityId,
      scan.since,
      scan.upTo,
      scan.customerType === null ? null : CUSTOMER_TYPE_CODE[scan.customerType],
      scan.sorIds,
      after?.receivedAt ?? null,
      after?.id ?? 0,
      after?.ordinal ?? 0,
    ],
  );
  const lastEntry = rows.at(-1)?.ordinal === null ? rows.pop()! : null;
  return takeDistinct(rows, lastEntry, limit);
}

/** `lastEntry`: the last one looked at, where there may be more behind it. */
function takeDistinct(rows: ChangeRow[], lastEntry: ChangeRow | null, limit: number) {
  const changed = new Map<string, ChangedCustomer>();
  for (const [index, row] of rows.entries()) {
    const key = `${row.customer_type}/${row.customer_id}`;
    if (changed.has(key)) continue;
    if (changed.size === limit) return { changed: [...changed.values()], next: positionOf(rows[index - 1]!) };
    const { customer_id: customerId, customer_type: type, since } = row;
    changed.set(key, { customerId, customerType: CUSTOMER_TYPES[type]!, since });
  }
  const isCut = rows.length === LOGGED_CUSTOMERS;
  const next = isCut ? positionOf(rows.at(-1)!) : lastEntry && positionOf(lastEntry);
  return { changed: [...changed.values()], next };
}

/** All customers of an entry lie before an ordinal that none has. */
function positionOf({ received_at: receivedAt, id, ordinal }: ChangeRow): LogPosition {
  return { receivedAt, id, ordinal: ordinal ?? 2 ** 31 };
}
