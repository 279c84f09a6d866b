import type { JobClaim } from '../../domain/jobs/job.ts';
import { collectIdentifiers, updateSubjects } from '../../store/gdpr/identifiers.ts';
import { updateStage } from '../../store/gdpr/progress.ts';
import type { Dependencies } from '../dependencies.ts';

/** Gathers what the people are known by; `added`: how many ids are new. */
export async function gatherKnown(
  { db, secrets, boundary }: Dependencies,
  claim: JobClaim,
): Promise<{ added: number }> {
  const { entityId, jobId } = claim;
  await updateStage(db, claim, 'gathering');
  await updateSubjects(db, secrets, entityId, jobId);
  const found = await collectIdentifiers(db, entityId, jobId);
  boundary('gdpr: collected');
  return found;
}
