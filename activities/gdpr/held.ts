import type { JobKey } from '../../domain/jobs/job.ts';
import type { Tx } from '../../store/core/database.ts';
import { listOrdinalsOnHold } from '../../store/gdpr/holds.ts';
import { updateHeld } from '../../store/gdpr/progress.ts';
import { deleteSharedDevices, listLinkedPeople } from '../../store/gdpr/shared-ids.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';

export type Counted = { going: number; held: number };

/**
 * Sets those apart who are on hold, and lets go of devices that they share with the others, or that somebody else uses
 * by now. `tx` holds the request. `refused`: such devices that have to be taken in again first, as those are that are
 * `letIn`.
 */
export async function setApart(
  tx: Tx,
  key: JobKey,
  letIn: ReadonlySet<string>,
): Promise<Counted & { refused: Person[] }> {
  const counted = await updateHeld(tx, key, await findHeld(tx, key));
  return { ...counted, refused: await deleteSharedDevices(tx, key.entityId, key.jobId, letIn) };
}

/**
 * The ordinals of people with an id on hold, of those who can't be told apart from them, and of devices that one of
 * them has used.
 */
async function findHeld(tx: Tx, { entityId, jobId }: JobKey): Promise<number[]> {
  const held = new Set(await listOrdinalsOnHold(tx, entityId, jobId));
  if (held.size === 0) return [];
  const links = await listLinkedPeople(tx, entityId, jobId);
  for (let size = 0; size !== held.size;) {
    size = held.size;
    for (const pair of links)
      if (pair.some((ordinal) => held.has(ordinal))) for (const ordinal of pair) held.add(ordinal);
  }
  return [...held];
}
