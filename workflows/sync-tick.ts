import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { SyncRef } from '../activities/sync/schedules.ts';
import type { SyncTickSteps } from '../activities/sync-tick.ts';

const { startScheduledRun } = proxyActivities<SyncTickSteps>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/** Temporal's own: for when a Schedule meant to start the workflow, before jitter and delays. */
const SCHEDULED_START = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** Starts the run of a sync that is due, as its Schedule tells. */
export async function syncTick(ref: SyncRef): Promise<void> {
  const { typedSearchAttributes, startTime } = workflowInfo();
  await startScheduledRun(ref, (typedSearchAttributes.get(SCHEDULED_START) ?? startTime).toISOString());
}
