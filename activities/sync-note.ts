import type { Needs } from './needs.ts';
import { type BatchRecord, errorsOf, type Fate, notesOf, progressAfter, settledLines } from './sync-fates.ts';
import { tellErased } from './tell-erased.ts';
import type { Tx } from '../store/database.ts';
import { insertImportErrors, updateErrorsRedriven } from '../store/import-errors.ts';
import { updateRecordsSeen, upsertRecords } from '../store/sync-records.ts';
import type { Sync } from '../store/sync-record.ts';
import type { RunProgress, SyncRun } from '../store/sync-run-record.ts';
import { updateRunProgress } from '../store/sync-runs.ts';
import { updateSyncCursor } from '../store/syncs.ts';

/** What became of a batch, whatever its destination. */
export type NotedBatch = {
  records: readonly (BatchRecord & { customerId?: string | null })[];
  fates: readonly Fate[];
  bytes: number;
  position: string | null;
  unmappedFields: string[];
  /** Whether the next incremental reading goes on behind it; unless told it does. */
  movesCursor?: boolean;
};

/**
 * Notes down what became of a batch: the errors, what is known of its records, which errors of the first run a re-drive has
 * settled, the counts, and where reading goes on. `run` is locked.
 */
export async function noteBatch(
  tx: Tx, needs: Needs, { sync, run }: { sync: Sync; run: SyncRun }, { unmappedFields, movesCursor = true, ...came }: NotedBatch,
): Promise<RunProgress> {
  const { entityId, id: syncId } = sync;
  const { records, fates, position } = came;
  const errors = await tellErased(tx, needs, entityId, errorsOf(records, fates));
  await insertImportErrors(tx, entityId, run.id, errors);
  const { handled, seen } = notesOf(records, fates, run);
  await upsertRecords(tx, entityId, { syncId, runId: run.id, isSeen: sync.removes }, handled);
  if (sync.removes) await updateRecordsSeen(tx, entityId, { syncId, runId: run.id }, seen);
  if (run.rootId !== null) await updateErrorsRedriven(tx, entityId, run.rootId, settledLines(records, fates), run.id);
  const progress = { ...progressAfter(run.progress, { ...came, errors }), unmappedFields };
  await updateRunProgress(tx, run, progress);
  if (movesCursor && sync.mode === 'incremental' && run.rootId === null) await updateSyncCursor(tx, sync, position);
  needs.boundary('sync: before a batch commits');
  return progress;
}
