import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { SyncRef, SyncTickSteps } from '../activities/syncs/sync-tick.ts';
import { SHORT_STEPS } from './job-steps.ts';
import { scheduledTime } from './scheduled-time.ts';

const { startScheduledRun } = proxyActivities<SyncTickSteps>(SHORT_STEPS);

/** Starts the run of a sync that is due, as its Schedule tells. */
export async function syncTick(ref: SyncRef): Promise<void> {
  const due = scheduledTime();
  setCurrentDetails(`Starting the run due at ${due}`);
  await startScheduledRun(ref, due);
}
