/** Lists customers whose values changed since a moment, with or without the change log. */
import type { Tx } from '../core/database.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { type ChangedCustomer, type Instant, listChanges, type LogPosition } from './attribute-change-log.ts';
import { type CustomerFilter, listCustomers } from './customers.ts';
import { findChanged, type ValueSelection } from './profile-values.ts';

/** Maximum number of customers, and of their values, that one page reads if the change log does not cover the scan. */
const LOOKED_AT = 20_000;
const VALUES_LOOKED_AT = 2_000_000;

/** Position of a scan over changes: in the change log, or after a customer. */
export type ScanCursor = { log: LogPosition | null } | { after: Person | null };

export type ChangesScan = { since: Instant; upTo: Instant; filter: CustomerFilter; selection: ValueSelection };

/**
 * Lists the next changed customers, at most `limit` and possibly fewer, and the position after them, null at the end.
 */
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
