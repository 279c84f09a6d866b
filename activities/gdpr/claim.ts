import { internalErrorOf } from '../../domain/core/internal-error.ts';
import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { claimGdprRequest } from '../../store/gdpr/progress.ts';
import { findNextUnvouched } from '../../store/gdpr/device-requests.ts';
import type { Dependencies } from '../dependencies.ts';
import { startJob } from '../../temporal/flows.ts';

/** `isTreated`: only its time is waited for. */
export type ClaimedRequest = JobClaim & { isTreated: boolean };

/** Makes the row this workflow run's; null when it is another's, over, or has to wait for its turn. */
export async function claimRequest(
  { db, boundary }: Pick<Dependencies, 'db' | 'boundary'>,
  ref: JobRef,
  workflowRunId: string,
): Promise<ClaimedRequest | null> {
  const claimed = await claimGdprRequest(db, ref, workflowRunId);
  boundary('gdpr: claimed');
  return claimed && { ...ref, generation: claimed.generation, isTreated: claimed.state === 'treated' };
}

/**
 * Starts the entity's next unvouched request now that one of its requests has ended. A failure is left to the sweep.
 */
export async function startNextUnvouched(
  { db, temporal, log }: Pick<Dependencies, 'db' | 'temporal' | 'log'>,
  { entityId }: Pick<JobRef, 'entityId'>,
): Promise<void> {
  const next = await findNextUnvouched(db, entityId);
  if (!next) return;
  await startJob(temporal, next.type, next).catch((error: unknown) => {
    log.warn(
      { entityId, gdprRequestId: next.jobId, ...internalErrorOf(error) },
      'the next request from a device is left to the sweep',
    );
  });
}
