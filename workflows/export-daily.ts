import { continueAsNew, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { ExportDailySteps } from '../activities/exports/export-daily.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { HEARTBEAT_TIMEOUT, RETRY, SHORT_STEP_TIMEOUT } from './patience.ts';

const { claimExport, windowClosed, endExport } = proxyActivities<ExportDailySteps>({
  startToCloseTimeout: SHORT_STEP_TIMEOUT,
  retry: RETRY,
});

const { exportFiles } = proxyActivities<ExportDailySteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '7 days',
  retry: RETRY,
});

const { mailExportAlert } = proxyActivities<ExportDailySteps>({
  taskQueue: 'sends',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '3 minutes',
  retry: RETRY,
});

/** After so many waits for its window or its bucket it goes on in a new run, so that no history grows long. */
const WAITS_OF_A_RUN = 50;

/**
 * Brings what an exporter is due into its bucket once nobody writes it any more, and tells of it where somebody has to act. A test
 * may have it go on in a new run after fewer waits.
 */
export async function exportDaily(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimExport(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return;                 // another has it, it has ended, or the run before it starts it
  for (let waits = 1; !claim.isCovered; waits += 1) {
    const again = await windowClosed(claim) ?? await exportFiles(claim);
    if (!again) break;
    await sleep(again.againInMs);
    if (waits === waitsOfARun || workflowInfo().continueAsNewSuggested) return continueAsNew<typeof exportDaily>(ref, waitsOfARun);
  }
  const { mails } = await endExport(claim);
  for (let again = mails ? await mailExportAlert(claim) : null; again; again = await mailExportAlert(claim)) await sleep(again.againInMs);
}
