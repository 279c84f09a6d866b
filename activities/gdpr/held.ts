import type { JobKey } from '../../domain/jobs/job.ts';
import type { Tx } from '../../store/core/database.ts';
import { listHoldsOf } from '../../store/gdpr/holds.ts';
import { listIdentifiers } from '../../store/gdpr/identifiers.ts';
import { isCustomer } from '../../store/gdpr/people-keys.ts';
import { updateHeld } from '../../store/gdpr/progress.ts';
import { deleteSharedDevices, listLinkedPeople, listUsersOfWholeDevices } from '../../store/gdpr/shared-ids.ts';
import { type Person, personKey } from '../../store/gdpr/tombstones.ts';

export type Counted = { going: number; held: number };

/**
 * Sets those apart who are on hold, and lets go of devices that they share with the others, or that somebody else uses by now. `tx`
 * holds the request. `refused`: such devices that have to be taken in again first, as those are that are `letIn`.
 */
export async function setApart(tx: Tx, key: JobKey, letIn: ReadonlySet<string>): Promise<Counted & { refused: Person[] }> {
  const counted = await updateHeld(tx, key, await findHeld(tx, key));
  return { ...counted, refused: await deleteSharedDevices(tx, key.entityId, key.runId, letIn) };
}

/** The ordinals of people with an id on hold, of those who can't be told apart from them, and of devices that one of them has used. */
async function findHeld(tx: Tx, { entityId, runId: requestId }: JobKey): Promise<number[]> {
  const known = (await listIdentifiers(tx, entityId, requestId)).filter(isCustomer);
  const identifiers = [...known, ...await listUsersOfWholeDevices(tx, entityId, requestId)];
  const holds = await listHoldsOf(tx, entityId, identifiers);
  if (holds.length === 0) return [];
  const onHold = new Set(holds.map(personKey));
  const held = new Set(identifiers.filter((person) => onHold.has(personKey(person))).map(({ ordinal }) => ordinal));
  const links = await listLinkedPeople(tx, entityId, requestId);
  for (let size = 0; size !== held.size;) {
    size = held.size;
    for (const pair of links) if (pair.some((ordinal) => held.has(ordinal))) for (const ordinal of pair) held.add(ordinal);
  }
  return [...held];
}
