import { continueAsNew, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { GdprAccessSteps } from '../activities/gdpr/gdpr-access.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { isRequestGone, repeat } from './gdpr-steps.ts';
import { HEARTBEAT_TIMEOUT, RETRY, SHORT_STEP_TIMEOUT } from './patience.ts';

const { claimAccess } = proxyActivities<GdprAccessSteps>({ startToCloseTimeout: SHORT_STEP_TIMEOUT, retry: RETRY });

const { gatherToShow, writeArchives, writeAccessReceipt, discardAccess } = proxyActivities<GdprAccessSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '7 days',
  retry: RETRY,
});

const { mailAboutAccess } = proxyActivities<GdprAccessSteps>({
  taskQueue: 'sends',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '3 minutes',
  retry: RETRY,
});

/** After so many waits it goes on in a new run, so that no history grows long. */
const WAITS_OF_A_RUN = 50;

/** Shows people on request what is known of them: an archive for each, which can be fetched for a week. */
export async function gdprAccess(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimAccess(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return;                 // another has it, or it is over
  try {
    if (!claim.isTreated) {
      let waits = 0;
      for (let again = await gatherToShow(claim); again; again = await gatherToShow(claim)) {
        await sleep(again.againInMs);
        waits += 1;
        if (waits === waitsOfARun) return await continueAsNew<typeof gdprAccess>(ref, waitsOfARun);
      }
      await writeArchives(claim);
      await writeAccessReceipt(claim);
    }
  } catch (error) {
    if (!isRequestGone(error)) throw error;       // another workflow has it, or its entity is deleted
    return;
  }
  await repeat(() => mailAboutAccess(claim));
  await repeat(() => discardAccess(ref));
}
