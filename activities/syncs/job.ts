import { Refusal } from '../../domain/core/refusal.ts';
import type { JobClaim, JobKey } from '../../domain/jobs/job.ts';
import { findSorById } from '../../store/attributes/systems-of-records.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { findRunById } from '../../store/syncs/sync-runs.ts';
import { findSyncById } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { type OpenConnection, openConnection } from './open-connection.ts';

/** A run with its sync, as they stood when a step began. */
export type SyncJob = { run: SyncRun; sync: Sync; key: JobKey };

/** Null when another generation has taken over, or the run has ended, or the sync is deleted. */
export async function findJob(
  { db }: Pick<Dependencies, 'db'>,
  { entityId, jobId, generation }: JobClaim,
): Promise<SyncJob | null> {
  const run = await findRunById(db, entityId, jobId);
  if (run?.state !== 'running' || run.generation !== generation) return null;
  const sync = await findSyncById(db, entityId, run.syncId);
  return sync && { run, sync, key: { entityId, jobId, generation } };
}

/** Outside systems of a run. */
export type SyncEnds = { source: OpenConnection; destination: OpenConnection | null };

export async function openEnds(deps: Dependencies, { sync }: SyncJob): Promise<SyncEnds> {
  const { entityId, destination } = sync;
  if ('sorId' in destination && !(await findSorById(deps.db, entityId, destination.sorId))) {
    throw new Refusal(409, 'sor_deleted', 'The System of Record that it writes to was deleted: make another sync');
  }
  return {
    source: await openConnection(deps, entityId, sync.connectionId),
    destination: 'sorId' in destination ? null : await openConnection(deps, entityId, destination.connectionId),
  };
}

/** The secret settings of a run's connections, one of which a connector may have quoted. */
export function secretsOf(ends: SyncEnds | null) {
  return [ends?.source.secretSettings ?? {}, ends?.destination?.secretSettings ?? {}];
}
