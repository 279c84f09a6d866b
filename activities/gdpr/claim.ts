import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { claimGdprRequest } from '../../store/gdpr/progress.ts';
import type { Dependencies } from '../dependencies.ts';

/** `isTreated`: only its time is waited for. */
export type ClaimedRequest = JobClaim & { isTreated: boolean };

/** Makes the row this workflow run's; null when it is another's, or over. */
export async function claimRequest(
  { db, boundary }: Pick<Dependencies, 'db' | 'boundary'>, ref: JobRef, workflowRunId: string,
): Promise<ClaimedRequest | null> {
  const claimed = await claimGdprRequest(db, ref, workflowRunId);
  boundary('gdpr: claimed');
  return claimed && { ...ref, generation: claimed.generation, isTreated: claimed.state === 'treated' };
}
