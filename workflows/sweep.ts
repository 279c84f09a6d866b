import { patched, proxyActivities } from '@temporalio/workflow';
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

/** Starts the never-started, restarts the lost, deletes the expired. */
export async function sweep(): Promise<void> {
  await steps.resetLostRuns();
  await steps.startUnclaimed();
  if (patched('repairs-schedules')) await steps.repairSchedules();
  if (patched('adds-customers')) await steps.addCustomers();
  // Before what needs the file store, which may be away.
  if (patched('cares-for-requests')) await steps.careForRequests();
  if (patched('sends-account-mails')) await steps.sendAccountMails();
  await steps.deleteExpired();
  if (patched('keeps-events')) await steps.keepEvents();
}
