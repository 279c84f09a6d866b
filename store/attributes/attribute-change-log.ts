/** Log of attribute changes: which customers changed since a moment. */
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { COMPLETE_UNTIL } from '../core/complete-until.ts';
import { type Database, type Queryable, read, type Tx, write } from '../core/database.ts';
import { changeRows, type Tally } from '../core/in-batches.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Person } from '../gdpr/tombstones.ts';

/** Days for which the log is kept. Older changes are found by reading each customer. */
const LOG_KEPT_DAYS = 40;

/** A moment as Postgres writes it; a JavaScript Date would cut its microseconds. */
export type Instant = string;

export type LogPosition = { receivedAt: Instant; id: number; ordinal: number };

export type LogScan = { since: Instant; upTo: Instant; customerType: CustomerType | null; sorIds: readonly number[] };

export type ChangedCustomer = Person & { since: Instant };

export type ScanStart = { now: Instant; until: Instant; isLogged: boolean };

/**
 * Returns a scan's start: now, and the moment at which the next one begins, before which every change is committed and
 * in this scan; also whether the log covers all changes. A `since` in the future is not handed on: the caller would
 * miss changes until then.
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

/** Maximum size of one short transaction on the log: many small entries, or one or two of large imports. */
const ENTRIES_AT_ONCE = 1_000;
const BYTES_AT_ONCE = 2 * 1024 ** 2;

/** Returns SQL for the keys of the first entries that fit a transaction; finds their size without reading arrays. */
export function firstEntries(condition: string, order: 'id' | 'received_at, id'): string {
  return `SELECT received_at, id FROM (
    SELECT received_at, id, sum(size) OVER (ORDER BY ${order}) - size AS bytes_before FROM (
      SELECT received_at, id, pg_column_size(customer_ids) AS size FROM attribute_change_log
      WHERE ${condition} ORDER BY ${order} LIMIT ${ENTRIES_AT_ONCE}) AS first) AS sized
  WHERE bytes_before < ${BYTES_AT_ONCE}`;
}

export type PeopleByType = readonly [
  users: readonly string[],
  devices: readonly string[],
  wholeDevices: readonly string[],
];

type EntryKey = { at: Instant; id: number };
type EntryRange = { after: EntryKey; last: EntryKey };

/** Yields ranges of entries for a transaction each, after the last range: the front may still hold dead rows. */
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

/** Tests a row for people; $8: a device's own request, which has no values in custom Systems of Records. */
const IS_ONE_OF_THEM = `CASE customer_type WHEN 0 THEN u.customer_id = ANY ($6::text[])
  ELSE u.customer_id = ANY ($7::text[]) AND (u.customer_id <> ALL ($8::text[]) OR sor_id IN (
    SELECT s.id FROM systems_of_records s WHERE s.entity_id = $1 AND s.type <> 'custom')) END`;
const TELLS_OF_THEM = `EXISTS (SELECT FROM unnest(customer_ids) AS u (customer_id) WHERE ${IS_ONE_OF_THEM})`;

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

/** Yields the times of changes of these people, one an entry and person, oldest first. */
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

/** Removes people from all entries in short transactions; NULL stays, since a running scan counts ordinals. */
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
