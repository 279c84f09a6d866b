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

type EntryKey = { at: Instant; id: number };
/** The values of `$1` to `$5` in `IN_RANGE`. */
type RangeValues = readonly [entityId: number, afterAt: Instant, afterId: number, lastAt: Instant, lastId: number];

/**
 * Yields the values of `IN_RANGE` for ranges of entries, each for a transaction: of all entries, or of those that are
 * kept no longer. Each range follows the last one: the front may still hold dead rows.
 */
export async function* entryRanges(
  db: Database,
  entityId: number,
  { areOld = false } = {},
): AsyncGenerator<RangeValues> {
  for (let after: EntryKey = { at: '-infinity', id: 0 }; ;) {
    const last = await read(db, (tx) => findRangeEnd(tx, entityId, after, areOld ? LOG_KEPT_DAYS : null));
    if (!last) return;
    yield [entityId, after.at, after.id, last.at, last.id];
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

/** A condition on entries: they are of a range of `entryRanges`. */
export const IN_RANGE = `entity_id = $1 AND (received_at, id) > ($2::timestamptz, $3::bigint)
  AND (received_at, id) <= ($4::timestamptz, $5::bigint)`;

/** Runs a statement on a range of entries, and counts the rows that it changed. */
export function changeRange(
  db: Database,
  statement: string,
  values: readonly unknown[],
  tally?: Tally,
): Promise<number> {
  return write(db, (tx) => changeRows(tx, statement, [...values], tally), { settings: LOOK_UP_BY_KEY });
}
