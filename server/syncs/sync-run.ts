import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { findRun } from '../../store/syncs/sync-runs.ts';
import { knownSync } from './sync-record.ts';

/** A run of the caller's sync. */
export async function knownRun(db: Queryable, entityId: number, syncId: string, runId: string): Promise<SyncRun> {
  const sync = await knownSync(db, entityId, syncId);
  const run = await findRun(db, entityId, runId);
  return run?.syncId === sync.id ? run : refuse(404, 'not_found', 'Run not found');
}
