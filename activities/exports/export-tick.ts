import { exportSchedule, lastMidnight, latestDue } from '../../domain/exports/export-schedule.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import { findEntityZone } from '../../store/accounts/entities.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { lockExporterById } from '../../store/exports/data-exporters.ts';
import { coverExportTime, insertExportRun } from '../../store/exports/export-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { startJob } from '../../temporal/flows.ts';

/** Which exporter, by its row and by the name that the API shows. */
export type ExporterRef = { entityId: number; exporterId: number; identifier: string };

export type ExportTickSteps = ReturnType<typeof exportTickSteps>;

export const exportTickSteps = ({ db, temporal, boundary }: Pick<Dependencies, 'db' | 'temporal' | 'boundary'>) => ({
  /**
   * Writes the run that was due at `scheduledFor` (ISO 8601, UTC), unless another run covers it, and starts it. Where
   * later times have come meanwhile it is the last one's, and covers this one: what was missed is exported at once.
   */
  async startScheduledExport(ref: ExporterRef, scheduledFor: string): Promise<void> {
    const run = await write(db, (tx) => writeDueRun(tx, ref, new Date(scheduledFor)));
    boundary('export: due run written');
    // One that can't be started now is started by the sweep.
    if (run) await startJob(temporal, 'export', run).catch(() => {});
  },
});

async function writeDueRun(tx: Tx, { entityId, exporterId }: ExporterRef, due: Date): Promise<JobRef | null> {
  const exporter = await lockExporterById(tx, entityId, exporterId);
  if (!exporter?.active || exporter.paused) return null;
  const zone = await findEntityZone(tx, entityId);
  const scheduledFor = latestDue(exportSchedule(exporter.identifier, zone), due, new Date());
  const windowEnd = lastMidnight(zone, scheduledFor);
  if (await coverExportTime(tx, entityId, exporterId, { scheduledFor: due, windowEnd })) return null;
  const covers = scheduledFor.getTime() === due.getTime() ? [] : [due];
  const run = await insertExportRun(tx, entityId, {
    exporterId,
    cause: 'schedule',
    scheduledFor,
    covers,
    window: { start: null, end: windowEnd },
  });
  return run && { entityId, jobId: run.id, identifier: run.identifier };
}
