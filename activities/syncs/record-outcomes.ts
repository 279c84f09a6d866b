import type { ImportError } from '../../domain/imports/import-error.ts';
import type { Tx } from '../../store/core/database.ts';
import { insertImportErrors, updateErrorsRedriven } from '../../store/imports/import-errors.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { updateRecordsSeen, upsertRecords } from '../../store/syncs/sync-records.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { redactErased } from '../gdpr/redact-erased.ts';
import { type BatchRecord, errorsOf, notesOf, type RecordOutcome, settledLines } from './outcomes.ts';
import { customerTypeOf } from './erased.ts';

/** Outcomes of records, whatever their destination. */
export type RecordedOutcomes = {
  records: readonly (BatchRecord & { customerId?: string | null })[];
  outcomes: readonly RecordOutcome[];
  /** By their keys, those that had a note before; null if they were not looked up. */
  known: { has(key: string): boolean } | null;
};

/**
 * Notes down what became of records: the errors, what is known of each, and which errors of the first run a re-drive
 * has settled. The counts and the cursor of the source follow in the same transaction. Returns the errors as they are
 * kept.
 */
export async function recordOutcomes(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets'>,
  { sync, run }: { sync: Sync; run: Pick<SyncRun, 'id' | 'rootId'> },
  { records, outcomes, known }: RecordedOutcomes,
): Promise<ImportError[]> {
  const { entityId, id: syncId } = sync;
  const errors = await redactErased(tx, deps, entityId, errorsOf(records, outcomes), () => customerTypeOf(sync));
  await insertImportErrors(tx, entityId, run.id, errors);
  const { handled, seen } = notesOf(records, outcomes, run);
  await upsertRecords(tx, entityId, { syncId, runId: run.id, isSeen: sync.removes }, handled, known);
  if (sync.removes) await updateRecordsSeen(tx, entityId, { syncId, runId: run.id }, seen);
  if (run.rootId !== null) {
    const settled = settledLines(records, outcomes).map((line) => ({ line, column: 0 }));
    await updateErrorsRedriven(tx, entityId, run.rootId, settled, run.id);
  }
  return errors;
}
