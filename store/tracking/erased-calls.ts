import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { hasErased, listErased, type Person, personKey } from '../gdpr/tombstones.ts';
import type { IngestedCall } from './ingested-call.ts';

/**
 * The calls that name somebody who was erased, each with that person's keyed hash. `isAny`: whether the entity erased
 * anyone, if known.
 */
export async function findErasedCalls(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  calls: readonly IngestedCall[],
  isAny?: boolean,
): Promise<Map<IngestedCall, Buffer>> {
  const erased = new Map<IngestedCall, Buffer>();
  if (!(isAny ?? (await hasErased(db, entityId)))) return erased;
  const hashes = await listErased(db, secrets, entityId, calls.flatMap(peopleOf));
  if (hashes.size === 0) return erased;
  for (const call of calls) {
    const named = peopleOf(call).find((person) => hashes.has(personKey(person)));
    if (named) erased.set(call, hashes.get(personKey(named))!);
  }
  return erased;
}

/**
 * Returns the ids that a call names, with their types. An earlier id is a user's, whichever device is called the same.
 */
export function peopleOf({ userId, deviceId, previousId }: IngestedCall): Person[] {
  const people: Person[] = [];
  if (userId !== null) people.push({ customerType: 'user_id', customerId: userId });
  if (deviceId !== null) people.push({ customerType: 'device_id', customerId: deviceId });
  if (previousId !== null) people.push({ customerType: 'user_id', customerId: previousId });
  return people;
}
