import type { JobRef } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { coverScheduledTime, insertRun } from '../../store/syncs/sync-runs.ts';
import { lockSyncById } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { startJob } from '../../temporal/flows.ts';

/** Which sync, by its row and by the name that the API shows. */
export type SyncRef = { entityId: number; syncId: number; identifier: string };

export type SyncTickSteps = ReturnType<typeof syncTickSteps>;

export const syncTickSteps = ({ db, temporal, boundary }: Pick<Dependencies, 'db' | 'temporal' | 'boundary'>) => ({
  /** Writes the run that was due at `scheduledFor` (ISO 8601, UTC), unless another run covers it, and starts it. */
  async startScheduledRun({ entityId, syncId }: SyncRef, scheduledFor: string): Promise<void> {
    const due = new Date(scheduledFor);
    const ref = await write(db, async (tx): Promise<JobRef | null> => {
      const sync = await lockSyncById(tx, entityId, syncId);
      if (!sync || sync.paused || !sync.schedule) return null;
      if (await coverScheduledTime(tx, entityId, syncId, due)) return null;
      const run = await insertRun(tx, entityId, { syncId, cause: 'schedule', scheduledFor: due });
      return run && { entityId, jobId: run.id, identifier: run.identifier };
    });
    boundary('sync: due run written');
    // One that can't be started now is started by the sweep.
    if (ref) await startJob(temporal, 'sync', ref).catch(() => {});
  },
});
