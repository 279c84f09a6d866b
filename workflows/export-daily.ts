import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ExportDailySteps } from '../activities/exports/export-daily.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { BULK_STEPS, MAIL_STEPS, SHORT_STEPS, untilSettled, untilSettledInRuns, WAITS_OF_A_RUN } from './job-steps.ts';

const { claimExport, windowClosed, endExport } = proxyActivities<ExportDailySteps>(SHORT_STEPS);
const { exportFiles } = proxyActivities<ExportDailySteps>(BULK_STEPS);
const { mailExportAlert } = proxyActivities<ExportDailySteps>(MAIL_STEPS);

/**
 * Brings what an exporter is due into its bucket once nobody writes it any more, and tells of it where somebody has to
 * act. A test may have it go on in a new run after fewer waits.
 */
export async function exportDaily(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimExport(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return; // another has it, it has ended, or the run before it starts it
  if (!claim.isCovered)
    await untilSettledInRuns(async () => (await windowClosed(claim)) ?? exportFiles(claim), ref, waitsOfARun);
  const { mails } = await endExport(claim);
  if (mails) await untilSettled(() => mailExportAlert(claim));
}
