import { continueAsNew, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { RunSyncSteps } from '../activities/syncs/run-sync.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { CLAIM_TIMEOUT, HEARTBEAT_TIMEOUT, RETRY } from './patience.ts';

const { claimSyncRun, endSyncRun } = proxyActivities<RunSyncSteps>({
  startToCloseTimeout: CLAIM_TIMEOUT,
  retry: RETRY,
});

const { syncRecords } = proxyActivities<RunSyncSteps>({
  taskQueue: 'syncs',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '7 days',
  retry: RETRY,
});

const { mailSyncAlert } = proxyActivities<RunSyncSteps>({
  taskQueue: 'sends',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '3 minutes',
  retry: RETRY,
});

/** After so many waits for its source it goes on in a new run, so that no history grows long. */
const WAITS_OF_A_RUN = 50;

/**
 * Brings what a source has into its destination, each record or why not, and tells of it where somebody has to act. A test may have
 * it go on in a new run after fewer waits.
 */
export async function runSync(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimSyncRun(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return;                 // another has it, it has ended, or the run before it starts it
  for (let waits = 1; ; waits += 1) {
    const again = await syncRecords(claim);
    if (!again) break;
    await sleep(again.againInMs);
    if (waits === waitsOfARun || workflowInfo().continueAsNewSuggested) return continueAsNew<typeof runSync>(ref, waitsOfARun);
  }
  const { mails } = await endSyncRun(claim);
  for (let again = mails ? await mailSyncAlert(claim) : null; again; again = await mailSyncAlert(claim)) await sleep(again.againInMs);
}
