import type { Batch } from './import-batches.ts';
import type { ImportRules } from './import-rules.ts';
import { importRules } from './import-rules.ts';
import type { Needs } from './needs.ts';
import { type CheckedRows, checkPieces, rowError } from '../domain/import-batch.ts';
import { fileError, type ImportError } from '../domain/import-error.ts';
import type { FileFailure } from '../domain/import-file.ts';
import { type Tx, write } from '../store/database.ts';
import { insertImportErrors } from '../store/import-errors.ts';
import {
  type Import, type ImportProgress, lockImport, updateImportEnded, updateImportProgress,
} from '../store/imports.ts';
import { mergeAttributeValues, type MergeRefusal, type PreparedChanges, prepareChanges } from '../store/merge-attribute-values.ts';
import { lockSorRevision } from '../store/systems-of-records.ts';

/** A batch as the rules in force when it was read found it. */
export type CheckedBatch = Batch & { rules: ImportRules; rows: CheckedRows; prepared: PreparedChanges };

/** `rules` may change on the way: each batch is checked against those that stand when it is read. */
export async function* checkBatches(
  batches: AsyncGenerator<Batch>, job: Import, rules: () => ImportRules,
): AsyncGenerator<CheckedBatch> {
  for await (const batch of batches) yield checkBatch(job, batch, rules());
}

function checkBatch(job: Import, batch: Batch, rules: ImportRules): CheckedBatch {
  const cutOffAt = job.sourceDefect === null ? undefined : job.fileBytes;
  const rows = checkPieces(batch.pieces, rules, cutOffAt);
  return { ...batch, rules, rows, prepared: prepareChanges(rows.changes) };
}

/**
 * Commits a batch: its values, its errors, its counts and the cursor, in one transaction that holds the
 * import's row. Returns the rules it went by, or null when the cursor is not `cursor` any more.
 */
export async function mergeBatch(
  needs: Needs, job: Import, batch: CheckedBatch, cursor: number, whileMerging: () => void,
): Promise<ImportRules | null> {
  const merged = await write(needs.db, async (tx) => {
    const held = await lockImport(tx, job.entityId, job.id, job.generation);
    if (held?.nextOffset !== cursor) return null;
    const current = await recheckIfChanged(tx, job, batch);
    const errors = await mergeRows(tx, needs, job, current, whileMerging);
    await insertImportErrors(tx, job.entityId, job.id, errors);
    await updateImportProgress(tx, job, progressAfter(held, current, errors));
    needs.boundary('import: before a batch commits');
    return { rules: current.rules, rowsIn: current.rows.rowsIn, errors };
  }, { collide: true });
  if (!merged) return null;
  needs.boundary('import: after a batch committed');
  countRows(needs, merged.rowsIn, merged.errors);
  return merged.rules;
}

/** Attributes, or the SoR itself, may have changed since the rows were checked; from here on they can't. */
async function recheckIfChanged(tx: Tx, job: Import, batch: CheckedBatch): Promise<CheckedBatch> {
  const revision = await lockSorRevision(tx, job.entityId, job.sorId);
  if (revision === batch.rules.revision) return batch;
  return checkBatch(job, batch, await importRules(tx, job, batch.rules));
}

/** Merges the rows that hold, and returns the errors of all others. */
async function mergeRows(
  tx: Tx, { secrets }: Needs, job: Import, batch: CheckedBatch, whileMerging: () => void,
): Promise<ImportError[]> {
  const { pieces, rows, prepared } = batch;
  const refusals = await mergeAttributeValues(tx, secrets, job.entityId, job.sorId, prepared, whileMerging);
  return [...rows.errors, ...refusals.map((refusal) => refusalError(pieces, refusal))];
}

/** An erased person's row tells nothing of the person but the keyed hash. */
function refusalError(pieces: Batch['pieces'], refusal: MergeRefusal): ImportError {
  if ('erasedHash' in refusal) {
    const error = rowError(pieces, refusal.line, { kind: 'failed', errorType: 'INVALID_CUSTOMER_ID', message: 'erased' });
    return { ...error, stage: 'merge', raw: null, customerHash: refusal.erasedHash };
  }
  return { ...rowError(pieces, refusal.line, { kind: 'failed', ...refusal }), stage: 'merge' };
}

function progressAfter(held: Import, batch: CheckedBatch, errors: ImportError[]): ImportProgress {
  const ignored = errors.filter(({ outcome }) => outcome === 'ignored').length;
  const { rowsIn } = batch.rows;
  return {
    nextOffset: batch.nextOffset,
    nextLine: batch.nextLine,
    rowsIn: held.rowsIn + rowsIn,
    rowsOk: held.rowsOk + rowsIn - errors.length,
    rowsIgnored: held.rowsIgnored + ignored,
    rowsFailed: held.rowsFailed + errors.length - ignored,
    errorsByType: addByType(held.errorsByType, errors),
  };
}

function addByType(before: Import['errorsByType'], errors: ImportError[]): Import['errorsByType'] {
  const counts = { ...before };
  for (const { errorType } of errors) counts[errorType] = (counts[errorType] ?? 0) + 1;
  return counts;
}

function countRows({ countRows: count }: Needs, rowsIn: number, errors: ImportError[]): void {
  const ignored = errors.filter(({ outcome }) => outcome === 'ignored').length;
  count('ok', rowsIn - errors.length);
  count('ignored', ignored);
  count('failed', errors.length - ignored);
}

/** The file as a whole can't be imported: one error, and no row was read. */
export async function failImport(needs: Needs, job: Import, { errorType, message }: FileFailure): Promise<void> {
  await endWith(needs, job, 'failed', fileError(errorType, errorType === 'FILE_TRANSFER_ERROR' ? 'transfer' : 'parsing', message));
}

/** All rows are through. Where the source broke off, the import says so beside their errors. */
export async function finishImport(needs: Needs, job: Import): Promise<void> {
  const { sourceDefect } = job;
  await endWith(needs, job, 'finished', sourceDefect === null ? null : fileError('FILE_TRANSFER_ERROR', 'transfer', sourceDefect));
}

async function endWith(needs: Needs, job: Import, state: 'finished' | 'failed', error: ImportError | null): Promise<void> {
  await write(needs.db, async (tx) => {
    const held = await lockImport(tx, job.entityId, job.id, job.generation);
    if (!held) return;
    const errors = error ? [error] : [];
    await insertImportErrors(tx, job.entityId, job.id, errors);
    await updateImportProgress(tx, held, { ...held, errorsByType: addByType(held.errorsByType, errors) });
    await updateImportEnded(tx, held, state);
    needs.boundary('import: before the end commits');
  });
  needs.boundary('import: after the end committed');
}
