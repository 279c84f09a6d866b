// The ticks of Schedules: each writes the run of a sync or an exporter that is due, and starts it.
import { exportSchedule, lastMidnight, latestDue } from '../../domain/exports/export-schedule.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { findEntityZone } from '../../store/accounts/entities.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { lockExporterById } from '../../store/exports/data-exporters.ts';
import { coverExportTime, insertExportRun } from '../../store/exports/export-runs.ts';
import { coverScheduledTime, insertRun } from '../../store/syncs/sync-runs.ts';
import { lockSyncById } from '../../store/syncs/syncs.ts';
import { startJob } from '../../temporal/flows.ts';
import type { Dependencies } from '../dependencies.ts';

/** The sync or the exporter, by its row and by the name that the API shows. */
export type SyncRef = { entityId: number; syncId: number; identifier: string };
export type ExporterRef = { entityId: number; exporterId: number; identifier: string };

type TickDependencies = Pick<Dependencies, 'db' | 'temporal' | 'boundary'>;
export type SyncTickSteps = ReturnType<typeof syncTickSteps>;
export type ExportTickSteps = ReturnType<typeof exportTickSteps>;

export const syncTickSteps = (deps: TickDependencies) => ({
  /** Writes the run that was due at `scheduledFor` (ISO 8601, UTC), unless another run covers it, and starts it. */
  startScheduledRun: (ref: SyncRef, scheduledFor: string): Promise<void> =>
    startDue(deps, 'sync', (tx) => writeSyncRun(tx, ref, new Date(scheduledFor))),
});

export const exportTickSteps = (deps: TickDependencies) => ({
  /**
   * Does the same for an exporter. If later times have passed meanwhile, the run is the last one's, and covers this
   * one: what was missed is exported at once.
   */
  startScheduledExport: (ref: ExporterRef, scheduledFor: string): Promise<void> =>
    startDue(deps, 'export', (tx) => writeExportRun(tx, ref, new Date(scheduledFor))),
});

async function startDue(
  { db, temporal, boundary }: TickDependencies,
  kind: 'sync' | 'export',
  writeDueRun: (tx: Tx) => Promise<Parameters<typeof jobRefOf>[0] | null>,
): Promise<void> {
  const run = await write(db, writeDueRun);
  boundary(`${kind}: due run written`);
  // The sweep starts a run that can't be started now.
  if (run) await startJob(temporal, kind, jobRefOf(run)).catch(() => {});
}

async function writeSyncRun(tx: Tx, { entityId, syncId }: SyncRef, due: Date) {
  const sync = await lockSyncById(tx, entityId, syncId);
  if (!sync || sync.paused || !sync.schedule) return null;
  if (await coverScheduledTime(tx, entityId, syncId, due)) return null;
  return insertRun(tx, entityId, { syncId, cause: 'schedule', scheduledFor: due });
}

async function writeExportRun(tx: Tx, { entityId, exporterId }: ExporterRef, due: Date) {
  const exporter = await lockExporterById(tx, entityId, exporterId);
  if (!exporter?.active || exporter.paused) return null;
  const zone = await findEntityZone(tx, entityId);
  const scheduledFor = latestDue(exportSchedule(exporter.identifier, zone), due, new Date());
  const windowEnd = lastMidnight(zone, scheduledFor);
  if (await coverExportTime(tx, entityId, exporterId, { scheduledFor: due, windowEnd })) return null;
  const covers = scheduledFor.getTime() === due.getTime() ? [] : [due];
  const window = { start: null, end: windowEnd };
  return insertExportRun(tx, entityId, { exporterId, cause: 'schedule', scheduledFor, covers, window });
}
