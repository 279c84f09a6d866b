import { proxyActivities } from '@temporalio/workflow';
import type { ExporterRef, ExportTickSteps } from '../activities/export-tick.ts';
import { scheduledTime } from './scheduled-time.ts';

const { startScheduledExport } = proxyActivities<ExportTickSteps>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/** Starts the run of an exporter that is due, as its Schedule tells. */
export async function exportTick(ref: ExporterRef): Promise<void> {
  await startScheduledExport(ref, scheduledTime());
}
