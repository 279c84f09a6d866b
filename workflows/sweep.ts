/** The workflow of the sweep, which a schedule starts. */
import { isCancellation, patched, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { AccountMailSteps } from '../activities/accounts/account-mails.ts';
import type { GdprSweepSteps } from '../activities/gdpr/sweep.ts';
import type { SweepSteps } from '../activities/jobs/sweep.ts';
import { HEARTBEAT_TIMEOUT } from './patience.ts';

const steps = proxyActivities<SweepSteps & GdprSweepSteps & AccountMailSteps>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  // The schedule is the retry: a step that fails is tried again by the next sweep.
  retry: { maximumAttempts: 3 },
});

const STEPS = [
  'resetLostRuns',
  'startUnclaimed',
  'repairSchedules',
  'addCustomers',
  'careForRequests',
  'sendAccountMails',
  'deleteExpired',
  'keepEvents',
] as const;

/** Starts jobs that were never started, restarts lost ones, deletes expired data. A failed step delays no other. */
export async function sweep(): Promise<void> {
  if (!patched('isolates-steps')) return sweepUntilFailure();
  const failures: unknown[] = [];
  for (const [index, step] of STEPS.entries()) {
    setCurrentDetails(`${step} (step ${index + 1} of ${STEPS.length}); ${failures.length} steps failed`);
    await steps[step]().catch((error: unknown) => {
      if (isCancellation(error)) throw error;
      failures.push(error);
    });
  }
  if (failures.length > 0) throw failures[0];
}

/** Replays histories from before a failed step stopped delaying others. */
async function sweepUntilFailure(): Promise<void> {
  await steps.resetLostRuns();
  await steps.startUnclaimed();
  if (patched('repairs-schedules')) await steps.repairSchedules();
  if (patched('adds-customers')) await steps.addCustomers();
  if (patched('cares-for-requests')) await steps.careForRequests();
  if (patched('sends-account-mails')) await steps.sendAccountMails();
  await steps.deleteExpired();
  if (patched('keeps-events')) await steps.keepEvents();
}
