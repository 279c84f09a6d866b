// The ticks of Schedules: each writes the run of a sync or an exporter that is due, and starts it.
import { exportSchedule, lastMidnight, latestDue } from '../../domain/exports/export-schedule.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { findEntityZone } from '../../store/accounts/entities.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { exportRuns, insertExportRun } from '../../store/exports/export-runs.ts';
import type { Run, Runs } from '../../store/jobs/runs.ts';
import { insertRun, syncRuns } from '../../store/syncs/sync-runs.ts';
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
  startScheduledRun: ({ entityId, syncId }: SyncRef, scheduledFor: string): Promise<void> =>
    startDue(
      deps,
      syncRuns,
      { entityId, ownerId: syncId, due: new Date(scheduledFor) },
      async (tx, { schedule }, due) =>
        schedule
          ? { covering: [], insert: () => insertRun(tx, entityId, { syncId, cause: 'schedule', scheduledFor: due }) }
          : null,
    ),
});

export const exportTickSteps = (deps: TickDependencies) => ({
  /**
   * Does the same for an exporter. If later times have passed meanwhile, the run is the last one's, and covers this
   * one: what was missed is exported at once.
   */
  startScheduledExport: ({ entityId, exporterId }: ExporterRef, scheduledFor: string): Promise<void> =>
    startDue(deps, exportRuns, { entityId, ownerId: exporterId, due: new Date(scheduledFor) }, planExport),
});

/** A run to be written, and what else a run that covers its time must cover. */
type DueRun<R> = { covering: unknown[]; insert(): Promise<R | null> };

async function startDue<R extends Run, O extends { paused: object | null }>(
  { db, temporal, boundary }: TickDependencies,
  runs: Runs<R, O>,
  { entityId, ownerId, due }: { entityId: number; ownerId: number; due: Date },
  plan: (tx: Tx, owner: O, due: Date) => Promise<DueRun<R> | null>,
): Promise<void> {
  const run = await write(db, async (tx) => {
    const owner = await runs.owners.lockById(tx, entityId, ownerId);
    const planned = owner && !owner.paused ? await plan(tx, owner, due) : null;
    if (!planned || (await runs.cover(tx, entityId, ownerId, due, ...planned.covering))) return null;
    return planned.insert();
  });
  boundary(`${runs.kind}: due run written`);
  // The sweep starts a run that can't be started now.
  if (run) await startJob(temporal, runs.kind, jobRefOf(run)).catch(() => {});
}

async function planExport(
  tx: Tx,
  { entityId, id: exporterId, identifier, active }: DataExporter,
  due: Date,
): Promise<DueRun<ExportRun> | null> {
  if (!active) return null;
  const zone = await findEntityZone(tx, entityId);
  const scheduledFor = latestDue(exportSchedule(identifier, zone), due, new Date());
  const window = { start: null, end: lastMidnight(zone, scheduledFor) };
  const covers = scheduledFor.getTime() === due.getTime() ? [] : [due];
  return {
    covering: [window.end],
    insert: () => insertExportRun(tx, entityId, { exporterId, cause: 'schedule', scheduledFor, covers, window }),
  };
}
