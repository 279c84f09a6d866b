import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import { type Database, type Queryable, type Tx, write } from './database.ts';
import { LOOK_UP_BY_KEY } from './look-up-by-key.ts';
import type { Person } from './tombstones.ts';
import { CUSTOMER_TYPES, type CustomerType } from '../domain/customer-id.ts';

/** How long the log is kept. Older changes are found by looking at each customer. */
export const LOG_KEPT_DAYS = 40;

/** A moment as Postgres writes it: a JavaScript Date would cut its microseconds off. */
export type Instant = string;

/** After this entry's customer of this ordinal, counted from 1. */
export type LogPosition = { receivedAt: Instant; id: number; ordinal: number };

/** A walk over the changes since a moment, up to another one. */
export type LogWalk = { since: Instant; upTo: Instant; customerType: CustomerType | null; sorIds: readonly number[] };

/** A customer some of whose values changed since that moment. */
export type ChangedCustomer = Person & { since: Instant };

/** Most entries and customers that one page looks at. */
const ENTRIES = 2_000;
const LOGGED_CUSTOMERS = 10_000;

/** An entry for each customer type, of those `isNew` another one: they had no such value. */
export async function insertChanges(
  tx: Tx, entityId: number, sorId: number, customers: readonly (Person & { isNew: boolean })[],
): Promise<void> {
  if (customers.length === 0) return;
  await tx.query(
    `INSERT INTO attribute_change_log (entity_id, sor_id, customer_type, customer_ids, pending)
     SELECT $1, $2, customer_type, array_agg(customer_id), is_new
     FROM unnest($3::text[] COLLATE "C", $4::smallint[], $5::boolean[]) AS changed (customer_id, customer_type, is_new)
     GROUP BY customer_type, is_new`,
    [entityId, sorId, customers.map(({ customerId }) => customerId),
      customers.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]), customers.map(({ isNew }) => isNew)]);
}

export type WalkStart = { now: Instant; until: Instant; isLogged: boolean };

/**
 * What a walk over the changes since a moment begins with: now, the moment that the walk after it begins with (before it
 * every change there is was committed, and is seen by this walk), and whether the log still tells of all of them.
 * A date to come is not handed on: whoever kept it would be told of nothing until then.
 */
export async function findWalkStart(db: Queryable, since: Instant): Promise<WalkStart> {
  // A write transaction ends within 30 s (database.ts). One that is late in doing so shows in pg_stat_activity.
  const { rows } = await db.query<{ now: string; until: string; is_logged: boolean }>(
    `SELECT now()::text AS now, $1::timestamptz > now() - make_interval(days => $2) AS is_logged,
       to_char(date_trunc('milliseconds', greatest(CASE WHEN $1 <= now() THEN $1::timestamptz END,
         least(now() - interval '30 seconds', (
           SELECT min(xact_start) FROM pg_stat_activity
           WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid())))),
         'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS until`, [since, LOG_KEPT_DAYS - 1]);
  return { now: rows[0]!.now, until: rows[0]!.until, isLogged: rows[0]!.is_logged };
}

export async function isLogKept(db: Queryable, from: Instant): Promise<boolean> {
  const { rows } = await db.query<{ kept: boolean }>(
    'SELECT $1::timestamptz > now() - make_interval(days => $2) AS kept', [from, LOG_KEPT_DAYS]);
  return rows[0]!.kept;
}

const ERASED_AT_ONCE = 200;

/**
 * Takes people out of all entries, each step a short transaction of its own, and tells of how many. NULL stays in their
 * place: a walk under way goes by the places.
 */
export async function eraseFromChangeLog(db: Database, entityId: number, [users, devices]: [string[], string[]]): Promise<number> {
  let after: { at: Instant; id: number } | null = null;
  for (let total = 0; ;) {
    const step = await write(db, (tx) => eraseFromSome(tx, entityId, [users, devices], after));
    total += step.erased;
    if (!step.last) return total;
    after = step.last;
  }
}

async function eraseFromSome(
  tx: Tx, entityId: number, [users, devices]: [string[], string[]], after: { at: Instant; id: number } | null,
) {
  const { rows } = await tx.query<{ erased: number; at: string | null; id: number }>(
    `WITH step AS MATERIALIZED (
       SELECT received_at, id FROM attribute_change_log
       WHERE entity_id = $1 AND (received_at, id) > (coalesce($4::timestamptz, '-infinity'), $5::bigint)
       ORDER BY received_at, id LIMIT ${ERASED_AT_ONCE}
     ), erased AS (
       UPDATE attribute_change_log l SET customer_ids = ARRAY(
         SELECT CASE WHEN NOT u.customer_id = ANY (p.people) THEN u.customer_id END
         FROM unnest(l.customer_ids) WITH ORDINALITY AS u (customer_id, ordinal) ORDER BY u.ordinal)
       FROM step, (VALUES (0, $2::text[]), (1, $3::text[])) AS p (customer_type, people)
       WHERE l.entity_id = $1 AND l.received_at = step.received_at AND l.id = step.id
         AND p.customer_type = l.customer_type AND l.customer_ids && p.people
       RETURNING 1)
     SELECT (SELECT count(*) FROM erased) AS erased, received_at::text AS at, id
     FROM (SELECT) AS one LEFT JOIN (SELECT * FROM step ORDER BY received_at DESC, id DESC LIMIT 1) AS last ON true`,
    [entityId, users, devices, after?.at ?? null, after?.id ?? 0]);
  const { erased, at, id } = rows[0]!;
  return { erased, last: at === null ? null : { at, id } };
}

type ChangeRow = { received_at: string; id: number; ordinal: number | null; customer_type: number; customer_id: string; since: string };

/**
 * The next customers of the log, at most `limit` distinct ones, and where to go on: null at the end of the walk. An
 * entry of a transaction that began before `since` counts where it was committed after.
 */
export async function listChanges(
  tx: Tx, entityId: number, walk: LogWalk, after: LogPosition | null, limit: number,
): Promise<{ changed: ChangedCustomer[]; next: LogPosition | null }> {
  await tx.query(LOOK_UP_BY_KEY);
  // A range of the primary key, of which arrays are read until LIMIT: neither CTE nor unnest changes its order.
  const { rows } = await tx.query<ChangeRow>(
    `WITH entries AS MATERIALIZED (
       SELECT * FROM attribute_change_log
       WHERE entity_id = $1 AND received_at <= $3
         AND (received_at, id) >= (coalesce($6::timestamptz, $2::timestamptz - interval '30 seconds'), $7::bigint)
       ORDER BY received_at, id LIMIT ${ENTRIES}
     ), listed AS (
       SELECT e.received_at, e.id, u.ordinal, e.customer_type, u.customer_id, least(e.received_at, $2) AS since
       FROM entries e CROSS JOIN LATERAL unnest(e.customer_ids) WITH ORDINALITY AS u (customer_id, ordinal)
       WHERE (e.received_at >= $2 OR e.committed_at >= $2) AND ($4::smallint IS NULL OR e.customer_type = $4)
         AND e.sor_id = ANY ($5) AND u.customer_id IS NOT NULL
         AND ((e.received_at, e.id) > ($6, $7) OR $6 IS NULL OR u.ordinal > $8)
       LIMIT ${LOGGED_CUSTOMERS})
     SELECT received_at::text, id, ordinal::integer, customer_type, customer_id, since::text FROM listed
     UNION ALL
     (SELECT received_at::text, id, NULL, 0, '', '' FROM entries OFFSET ${ENTRIES - 1})`,
    [entityId, walk.since, walk.upTo, walk.customerType === null ? null : CUSTOMER_TYPE_CODE[walk.customerType],
      walk.sorIds, after?.receivedAt ?? null, after?.id ?? 0, after?.ordinal ?? 0]);
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
