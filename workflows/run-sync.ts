import { proxyActivities } from '@temporalio/workflow';
import type { RunSyncSteps } from '../activities/syncs/run-sync.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import {
  claimed,
  MAIL_STEPS,
  SHORT_STEPS,
  SYNC_STEPS,
  untilSettled,
  untilSettledInRuns,
  WAITS_OF_A_RUN,
} from './job-steps.ts';

const { claimSyncRun, endSyncRun } = proxyActivities<RunSyncSteps>(SHORT_STEPS);
const { syncRecords } = proxyActivities<RunSyncSteps>(SYNC_STEPS);
const { mailSyncAlert } = proxyActivities<RunSyncSteps>(MAIL_STEPS);

/** Brings a source's records into their destination, or records why not, and alerts people who must act. */
export async function runSync(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimed(claimSyncRun, ref);
  if (!claim) return;
  await untilSettledInRuns('Syncing records', () => syncRecords(claim), ref, waitsOfARun);
  const { mails } = await endSyncRun(claim);
  if (mails) await untilSettled('Sending the alerts of the run', () => mailSyncAlert(claim));
}
