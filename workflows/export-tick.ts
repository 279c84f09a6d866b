import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { ExporterRef, ExportTickSteps } from '../activities/exports/export-tick.ts';
import { SHORT_STEPS } from './job-steps.ts';
import { scheduledTime } from './scheduled-time.ts';

const { startScheduledExport } = proxyActivities<ExportTickSteps>(SHORT_STEPS);

/** Starts the run of an exporter that is due, as its Schedule tells. */
export async function exportTick(ref: ExporterRef): Promise<void> {
  const due = scheduledTime();
  setCurrentDetails(`Starting the run due at ${due}`);
  await startScheduledExport(ref, due);
}
