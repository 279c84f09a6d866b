import { proxyActivities } from '@temporalio/workflow';
import type { SyncRef, SyncTickSteps } from '../activities/sync-tick.ts';
import { scheduledTime } from './scheduled-time.ts';

const { startScheduledRun } = proxyActivities<SyncTickSteps>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/** Starts the run of a sync that is due, as its Schedule tells. */
export async function syncTick(ref: SyncRef): Promise<void> {
  await startScheduledRun(ref, scheduledTime());
}
