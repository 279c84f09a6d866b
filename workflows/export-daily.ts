import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { RetryAfter } from '../activities/core/retry-after.ts';
import type { ExportDailySteps } from '../activities/exports/export-daily.ts';
import type { JobClaim, JobRef } from '../domain/jobs/job.ts';
import {
  BULK_STEPS,
  claimed,
  MAIL_STEPS,
  SHORT_STEPS,
  untilSettled,
  untilSettledInRuns,
  WAITS_OF_A_RUN,
} from './job-steps.ts';

const { claimExport, windowClosed, endExport } = proxyActivities<ExportDailySteps>(SHORT_STEPS);
const { exportFiles } = proxyActivities<ExportDailySteps>(BULK_STEPS);
const { mailExportAlert } = proxyActivities<ExportDailySteps>(MAIL_STEPS);

/** Exports a window into its bucket once no transaction can write into it any more, and alerts people who must act. */
export async function exportDaily(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimed(claimExport, ref);
  if (!claim) return;
  if (!claim.isCovered)
    await untilSettledInRuns('Checking that the window has closed', () => exportOnceClosed(claim), ref, waitsOfARun);
  const { mails } = await endExport(claim);
  if (mails) await untilSettled('Sending the alerts of the run', () => mailExportAlert(claim));
}

async function exportOnceClosed(claim: JobClaim): Promise<RetryAfter | null> {
  const open = await windowClosed(claim);
  if (open) return open;
  setCurrentDetails('Writing the files');
  return exportFiles(claim);
}
