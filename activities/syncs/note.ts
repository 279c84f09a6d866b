import type { ImportError } from '../../domain/imports/import-error.ts';
import type { Tx } from '../../store/core/database.ts';
import { insertImportErrors, updateErrorsRedriven } from '../../store/imports/import-errors.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { updateRecordsSeen, upsertRecords } from '../../store/syncs/sync-records.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { tellErased } from '../gdpr/tell-erased.ts';
import type { Needs } from '../needs.ts';
import { type BatchRecord, errorsOf, type Fate, notesOf, settledLines } from './fates.ts';

/** What became of records, whatever their destination. */
export type NotedRecords = {
  records: readonly (BatchRecord & { customerId?: string | null })[];
  fates: readonly Fate[];
  /** By their keys, those that had a note before; null where nobody has looked. */
  known: { has(key: string): boolean } | null;
};

/**
 * Notes down what became of records: the errors, what is known of each, and which errors of the first run a re-drive has
 * settled. The counts and the place of the source follow in the same transaction. Returns the errors as they are kept.
 */
export async function noteRecords(
  tx: Tx, needs: Needs, { sync, run }: { sync: Sync; run: Pick<SyncRun, 'id' | 'rootId'> }, { records, fates, known }: NotedRecords,
): Promise<ImportError[]> {
  const { entityId, id: syncId } = sync;
  const errors = await tellErased(tx, needs, entityId, errorsOf(records, fates));
  await insertImportErrors(tx, entityId, run.id, errors);
  const { handled, seen } = notesOf(records, fates, run);
  await upsertRecords(tx, entityId, { syncId, runId: run.id, isSeen: sync.removes }, handled, known);
  if (sync.removes) await updateRecordsSeen(tx, entityId, { syncId, runId: run.id }, seen);
  if (run.rootId !== null) await updateErrorsRedriven(tx, entityId, run.rootId, settledLines(records, fates), run.id);
  return errors;
}
