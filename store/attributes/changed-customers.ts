/** Customers whose values changed: a scan over the change log, or all customers if the log does not reach back. */

import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Person } from '../gdpr/tombstones.ts';
import type { ChangedCustomer, Instant, LogPosition, LogScan } from './attribute-change-log.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import { type CustomerFilter, listCustomers } from './customers.ts';
import { findChanged, type ValueSelection } from './profile-values.ts';

const ENTRIES = 2_000;
const LOGGED_CUSTOMERS = 10_000;

type ChangeRow = {
  received_at: string;
  id: number;
  ordinal: number | null;
  customer_type: number;
  customer_id: string;
  since: string;
};

/** Returns the log's next customers and position. An entry that began before `since` counts if it committed later. */
async function listChanges(
  tx: Tx,
  entityId: number,
  scan: LogScan,
  after: LogPosition | null,
  limit: number,
): Promise<{ changed: ChangedCustomer[]; next: LogPosition | null }> {
  await tx.query(LOOK_UP_BY_KEY);
  // Reads arrays in a range of the primary key until LIMIT; CTE and unnest keep the order. Customers may recur.
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

function positionOf({ received_at: receivedAt, id, ordinal }: ChangeRow): LogPosition {
  return { receivedAt, id, ordinal: ordinal ?? 2 ** 31 };
}

/** Maximum number of customers, and of their values, that one page reads if the change log does not cover the scan. */
const LOOKED_AT = 20_000;
const VALUES_LOOKED_AT = 2_000_000;

export type ScanCursor = { log: LogPosition | null } | { after: Person | null };

type ChangesScan = { since: Instant; upTo: Instant; filter: CustomerFilter; selection: ValueSelection };

/** Returns at most `limit` customers, possibly fewer before the end, and the next position; null at the end. */
export async function listChangedCustomers(
  tx: Tx,
  entityId: number,
  scan: ChangesScan,
  cursor: ScanCursor,
  limit: number,
): Promise<{ changed: ChangedCustomer[]; next: ScanCursor | null }> {
  if ('after' in cursor) return lookAtCustomers(tx, entityId, scan, cursor.after, limit);
  const {
    since,
    upTo,
    filter: { customerType },
  } = scan;
  const sorIds = [...new Set(scan.selection.map(({ sorId }) => sorId))];
  const { changed, next } = await listChanges(tx, entityId, { since, upTo, customerType, sorIds }, cursor.log, limit);
  return { changed, next: next && { log: next } };
}

async function lookAtCustomers(
  tx: Tx,
  entityId: number,
  { since, filter, selection }: ChangesScan,
  after: Person | null,
  limit: number,
): Promise<{ changed: ChangedCustomer[]; next: ScanCursor | null }> {
  const most = Math.max(1, Math.min(LOOKED_AT, Math.floor(VALUES_LOOKED_AT / Math.max(1, selection.length))));
  const customers = await listCustomers(tx, entityId, filter, { after, limit: most });
  const asked = customers.map((customer) => ({ ...customer, since }));
  const positions = await findChanged(tx, entityId, asked, selection, limit);
  const last = positions.length === limit ? positions.at(-1)! : asked.length - 1;
  const isEnd = last === asked.length - 1 && asked.length < most;
  return { changed: positions.map((at) => asked[at]!), next: isEnd ? null : { after: customers[last]! } };
}
