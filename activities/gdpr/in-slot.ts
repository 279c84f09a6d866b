import { type JobClaim, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { updateStage } from '../../store/gdpr/progress.ts';
import { inSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Runs work on a request in a slot. The request's stage says that it waits for one, then what it is at. Throws
 * `JobGone`.
 */
export function inGdprSlot<T>(
  { db, takeGdprSlot }: Pick<Dependencies, 'db' | 'takeGdprSlot'>,
  claim: JobClaim,
  stage: string,
  work: () => Promise<T>,
): Promise<T> {
  return inSlot(takeGdprSlot, claim.entityId, work, (isWaiting) =>
    updateStage(db, claim, isWaiting ? WAITING_FOR_SLOT : stage),
  );
}
