import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import type { Queryable, Tx } from '../../store/core/database.ts';
import { findErased, personKey } from '../../store/gdpr/tombstones.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { Dependencies } from '../dependencies.ts';

/** Returns the type of the ids by which a sync names customers. */
export function customerTypeOf({ mapping: { customer } }: Pick<Sync, 'mapping'>): CustomerType {
  return customer?.type ?? 'user_id';
}

/** Returns a function that gives the keyed hash of an erased customer, undefined for others. */
export async function erasedAmong(
  db: Queryable,
  { secrets }: Pick<Dependencies, 'secrets'>,
  { entityId, mapping: { customer } }: Sync,
  ids: () => (string | null)[],
): Promise<(id: string | null) => Buffer | undefined> {
  if (customer === null) return () => undefined;
  const personOf = (customerId: string) => ({ customerType: customer.type, customerId });
  const erased = await findErased(db, secrets, entityId, () =>
    ids().flatMap((id) => (id === null ? [] : [personOf(id)])),
  );
  return (id) => (id === null ? undefined : erased.get(personKey(personOf(id))));
}

/**
 * Returns whether any of these people is erased. Call it in the transaction that writes their data: an earlier check
 * may be stale.
 */
export async function isAnyErased(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets'>,
  sync: Sync,
  ids: (string | null)[],
): Promise<boolean> {
  const erased = await erasedAmong(tx, deps, sync, () => ids);
  return ids.some((id) => erased(id) !== undefined);
}
