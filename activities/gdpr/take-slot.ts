import { type JobClaim, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { updateStage } from '../../store/gdpr/progress.ts';
import type { Dependencies } from '../dependencies.ts';

/** Takes a slot, and says in the request's stage that it waits for one, then what the step is at. Throws `JobGone`. */
export async function takeSlot(
  { db, takeGdprSlot }: Pick<Dependencies, 'db' | 'takeGdprSlot'>, claim: JobClaim, stage: string,
): Promise<() => void> {
  const freeSlot = await takeGdprSlot(claim.entityId, () => updateStage(db, claim, WAITING_FOR_SLOT));
  try {
    // Also if this attempt had not to wait: one before it may have been killed while it did.
    await updateStage(db, claim, stage);
    return freeSlot;
  } catch (error) {
    freeSlot();
    throw error;
  }
}
