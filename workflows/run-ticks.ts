// Start the run of a sync or an exporter that is due by its Schedule.
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ExporterRef, ExportTickSteps, SyncRef, SyncTickSteps } from '../activities/jobs/run-ticks.ts';
import { SHORT_STEPS } from './job-steps.ts';

const { startScheduledRun } = proxyActivities<SyncTickSteps>(SHORT_STEPS);
const { startScheduledExport } = proxyActivities<ExportTickSteps>(SHORT_STEPS);

export async function syncTick(ref: SyncRef): Promise<void> {
  await startScheduledRun(ref, dueTime());
}

export async function exportTick(ref: ExporterRef): Promise<void> {
  await startScheduledExport(ref, dueTime());
}

/** Temporal's own attribute: when a Schedule meant to start the workflow, before jitter and delays. */
const SCHEDULED_START = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** Returns when this workflow was due (ISO 8601, UTC): by its Schedule, else when it was started. */
function dueTime(): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  const due = (typedSearchAttributes.get(SCHEDULED_START) ?? startTime).toISOString();
  setCurrentDetails(`Starting the run due at ${due}`);
  return due;
}
