import type { Tx } from '../core/database.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { type ChangedCustomer, type Instant, listChanges, type LogPosition } from './attribute-change-log.ts';
import { type CustomerFilter, listCustomers } from './customers.ts';
import { findChanged, type ValueSelection } from './profile-values.ts';

/** Most customers that one page looks at, where the change log does not tell who changed, and most values of theirs. */
const LOOKED_AT = 20_000;
const VALUES_LOOKED_AT = 2_000_000;

/** Where a walk over changes goes on: in the change log, or behind a customer. */
export type WalkPlace = { log: LogPosition | null } | { after: Person | null };

export type ChangesWalk = { since: Instant; upTo: Instant; filter: CustomerFilter; selection: ValueSelection };

/** The next customers with changes, at most `limit`, and where to go on: null at the end. There may be fewer before it. */
export async function listChangedCustomers(
  tx: Tx, entityId: number, walk: ChangesWalk, place: WalkPlace, limit: number,
): Promise<{ changed: ChangedCustomer[]; next: WalkPlace | null }> {
  if ('after' in place) return lookAtCustomers(tx, entityId, walk, place.after, limit);
  const { since, upTo, filter: { customerType } } = walk;
  const sorIds = [...new Set(walk.selection.map(({ sorId }) => sorId))];
  const { changed, next } = await listChanges(tx, entityId, { since, upTo, customerType, sorIds }, place.log, limit);
  return { changed, next: next && { log: next } };
}

async function lookAtCustomers(
  tx: Tx, entityId: number, { since, filter, selection }: ChangesWalk, after: Person | null, limit: number,
): Promise<{ changed: ChangedCustomer[]; next: WalkPlace | null }> {
  const most = Math.max(1, Math.min(LOOKED_AT, Math.floor(VALUES_LOOKED_AT / Math.max(1, selection.length))));
  const customers = await listCustomers(tx, entityId, filter, { after, limit: most });
  const asked = customers.map((customer) => ({ ...customer, since }));
  const places = await findChanged(tx, entityId, asked, selection, limit);
  const last = places.length === limit ? places.at(-1)! : asked.length - 1;
  const isEnd = last === asked.length - 1 && asked.length < most;
  return { changed: places.map((at) => asked[at]!), next: isEnd ? null : { after: customers[last]! } };
}
