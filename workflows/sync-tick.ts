import { proxyActivities } from '@temporalio/workflow';
import type { SyncRef, SyncTickSteps } from '../activities/syncs/sync-tick.ts';
import { RETRY, SHORT_STEP_TIMEOUT } from './patience.ts';
import { scheduledTime } from './scheduled-time.ts';

const { startScheduledRun } = proxyActivities<SyncTickSteps>({
  startToCloseTimeout: SHORT_STEP_TIMEOUT,
  retry: RETRY,
});

/** Starts the run of a sync that is due, as its Schedule tells. */
export async function syncTick(ref: SyncRef): Promise<void> {
  await startScheduledRun(ref, scheduledTime());
}
