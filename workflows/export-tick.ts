import { proxyActivities } from '@temporalio/workflow';
import type { ExporterRef, ExportTickSteps } from '../activities/exports/export-tick.ts';
import { RETRY, SHORT_STEP_TIMEOUT } from './patience.ts';
import { scheduledTime } from './scheduled-time.ts';

const { startScheduledExport } = proxyActivities<ExportTickSteps>({
  startToCloseTimeout: SHORT_STEP_TIMEOUT,
  retry: RETRY,
});

/** Starts the run of an exporter that is due, as its Schedule tells. */
export async function exportTick(ref: ExporterRef): Promise<void> {
  await startScheduledExport(ref, scheduledTime());
}
