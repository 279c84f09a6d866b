import { redacted } from '../../connectors/core/redacted.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { shorten } from '../../domain/core/text-limits.ts';
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

/** What a run reaches outside. */
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

/** What a run keeps of what was said of it. */
const MAX_CHARS = 2_000;

/** A refusal without any secret of the connections, should a connector have quoted one. */
export function withoutSecrets(refusal: Refusal, ends: SyncEnds | null): Refusal {
  const secretSettings = [ends?.source.secretSettings ?? {}, ends?.destination?.secretSettings ?? {}];
  return new Refusal(
    refusal.http,
    refusal.status,
    shorten(redacted(refusal.message, secretSettings), MAX_CHARS),
    refusal.extra,
  );
}
