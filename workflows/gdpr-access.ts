import { patched, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { GdprAccessSteps } from '../activities/gdpr/gdpr-access.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import {
  BULK_STEPS,
  isJobGone,
  MAIL_STEPS,
  SHORT_STEPS,
  untilSettled,
  untilSettledInRuns,
  WAITS_OF_A_RUN,
} from './job-steps.ts';

const { claimAccess } = proxyActivities<GdprAccessSteps>(SHORT_STEPS);
const { gatherToShow, writeArchives, writeAccessReceipt, discardAccess } = proxyActivities<GdprAccessSteps>(BULK_STEPS);
const { mailAboutAccess } = proxyActivities<GdprAccessSteps>(MAIL_STEPS);

/**
 * Shows people on request what is known of them: an archive for each, which they can fetch until the sweep discards the
 * request.
 */
export async function gdprAccess(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimAccess(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return; // another has it, or it is over
  try {
    if (!claim.isTreated) {
      await untilSettledInRuns(() => gatherToShow(claim), ref, waitsOfARun);
      await writeArchives(claim);
      await writeAccessReceipt(claim);
    }
  } catch (error) {
    if (!isJobGone(error)) throw error; // another workflow has it, or its entity is deleted
    return;
  }
  await untilSettled(() => mailAboutAccess(claim));
  // The sweep discards the request after its week. Runs that began to wait for that before the sweep did it go on.
  if (!patched('sweep-discards')) await untilSettled(() => discardAccess(ref));
}
