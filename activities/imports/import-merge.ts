/** Checks a batch of an import by the rules, merges each lane's part, and ends imports. */
import { setImmediate } from 'node:timers/promises';
import type { AttributeChange } from '../../domain/attributes/attribute-change.ts';
import type { Piece } from '../../domain/csv/csv-pieces.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import {
  type CheckedRows,
  checkPieces,
  type LaneCursors,
  nothingChecked,
  rowError,
} from '../../domain/imports/import-batch.ts';
import { fileError, type ImportError } from '../../domain/imports/import-error.ts';
import type { FileFailure } from '../../domain/imports/import-file.ts';
import { isCutOff } from '../../domain/imports/source-defect.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import {
  ChangesPreparation,
  mergeAttributeValues,
  type MergeRefusal,
  type PreparedChanges,
  type Said,
} from '../../store/attributes/merge-attribute-values.ts';
import { holdSorRevision } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { deleteNotedFiles } from '../../store/core/file-deletions.ts';
import { inSlices } from '../../store/core/yield-to-event-loop.ts';
import { insertImportErrors, updateErrorsRedriven, updateTableRedriven } from '../../store/imports/import-errors.ts';
import {
  type ErrorCounts,
  type LaneProgress,
  type LaneRef,
  lockImportLane,
  sumErrors,
  updateImportLane,
} from '../../store/imports/import-lanes.ts';
import { type Import, lockImport, type ReadableImport, updateImportEnded } from '../../store/imports/imports.ts';
import type { Dependencies } from '../dependencies.ts';
import { redactErased } from '../gdpr/redact-erased.ts';
import { type Batch, type BatchOffsets, importRules, type ImportRules, readBatchAgain } from './import-batches.ts';

/** A lane's rows of a batch, checked by the rules when it was read; it keeps only what the merge needs. */
export type LanePart = {
  offsets: BatchOffsets;
  lane: number;
  lanes: LaneCursors;
  rules: ImportRules;
  rows: Omit<CheckedRows, 'changes'>;
  prepared: PreparedChanges;
};

/** Maximum number of Sets that a lane merges at once: with 1,000 elements each, five of thirty seconds. */
const MAX_SETS = 1_000;

/** Parses and checks a batch: yields a part for each lane, and several if it changes many Sets. */
export async function* checkBatch(
  deps: Dependencies,
  job: ReadableImport,
  { pieces, offsets }: Batch,
  lanes: LaneCursors,
  rules: ImportRules,
): AsyncGenerator<LanePart[]> {
  let { offset, line } = offsets;
  let check = new BatchCheck(deps, job, lanes, rules);
  for (const piece of pieces) {
    await check.add(piece);
    if (check.mostSets < MAX_SETS && piece !== pieces.at(-1)) continue;
    yield check.parts({ offset, line, nextOffset: piece.endOffset, nextLine: piece.endLine });
    ({ endOffset: offset, endLine: line } = piece);
    check = new BatchCheck(deps, job, lanes, rules);
  }
}

/** Checks the same rows again by other rules. */
async function checkAgain(
  deps: Dependencies,
  job: ReadableImport,
  part: LanePart,
  rules: ImportRules,
): Promise<LanePart> {
  const check = new BatchCheck(deps, job, part.lanes, rules);
  for (const piece of await readBatchAgain(deps, job, part.offsets)) await check.add(piece);
  return check.parts(part.offsets)[part.lane]!;
}

class BatchCheck {
  readonly #deps: Dependencies;
  readonly #job: ReadableImport;
  readonly #lanes: LaneCursors;
  readonly #rules: ImportRules;
  readonly #checked: CheckedRows[];
  readonly #prepared: { changes: ChangesPreparation; kept: AttributeChange[] }[];

  constructor(deps: Dependencies, job: ReadableImport, lanes: LaneCursors, rules: ImportRules) {
    this.#deps = deps;
    this.#job = job;
    this.#lanes = lanes;
    this.#rules = rules;
    this.#checked = nothingChecked(lanes);
    this.#prepared = lanes.map(() => ({ changes: new ChangesPreparation(), kept: [] }));
  }

  /**
   * Adds a piece of some hundred rows. Then the event loop gets a turn, because lanes' sessions wait for it between
   * statements, and the checked rows are freed.
   */
  async add(piece: Piece): Promise<void> {
    checkPieces([piece], this.#rules, this.#lanes, cutOffAt(this.#job), this.#checked);
    for (const [lane, { changes, kept }] of this.#prepared.entries()) {
      const some = this.#checked[lane]!.changes.splice(0);
      changes.add(some);
      if (this.#rules.hasErased) kept.push(...some);
    }
    await setImmediate();
  }

  /** Number of Sets in the lane with most of them. */
  get mostSets(): number {
    return Math.max(...this.#prepared.map(({ changes }) => changes.sets));
  }

  /** Returns a part for each lane; the rows lie at `offsets`. */
  parts(offsets: BatchOffsets): LanePart[] {
    const [deps, job, lanes, rules] = [this.#deps, this.#job, this.#lanes, this.#rules];
    return this.#checked.map((rows, lane) => {
      const { changes, kept } = this.#prepared[lane]!;
      const again = async () => {
        if (rules.hasErased) return kept;
        const checked = nothingChecked(lanes);
        const samePieces = await readBatchAgain(deps, job, offsets);
        await inSlices(samePieces, (piece) => {
          checkPieces([piece], rules, lanes, cutOffAt(job), checked);
        });
        return checked[lane]!.changes;
      };
      return { offsets, lane, lanes, rules, rows, prepared: changes.prepared(again) };
    });
  }
}

function cutOffAt({ file }: ReadableImport): number | undefined {
  return isCutOff(file.sourceDefect) ? file.fileBytes : undefined;
}

/**
 * Commits a lane's part of a batch in one transaction that holds the lane: values, errors, counts and the lane's
 * cursor. Returns the rules that it used, or null if the lane is not at `cursor` any more.
 */
export async function mergePart(
  deps: Dependencies,
  job: ReadableImport,
  part: LanePart,
  cursor: number,
): Promise<ImportRules | null> {
  const lane: LaneRef = { entityId: job.entityId, importId: job.id, generation: job.generation, lane: part.lane };
  const merged = await write(
    deps.db,
    async (tx) => {
      const held = await lockImportLane(tx, lane);
      if (held?.nextOffset !== cursor) return null;
      const current = await recheckIfChanged(tx, deps, job, part);
      const errors = await mergeRows(tx, deps, job, current);
      await insertImportErrors(tx, job.entityId, job.id, errors);
      await updateImportLane(tx, lane, progressAfter(held, current, errors));
      deps.boundary('import: before a batch commits');
      return { rules: current.rules, rows: current.rows, errors };
    },
    { collide: true },
  );
  if (!merged) return null;
  deps.boundary('import: after a batch committed');
  countRows(deps, merged);
  return merged.rules;
}

/** Checks the rows again if attributes or the SoR have changed since; from here on they cannot change. */
async function recheckIfChanged(tx: Tx, deps: Dependencies, job: ReadableImport, part: LanePart): Promise<LanePart> {
  const revision = await holdSorRevision(tx, job.entityId, job.sorId);
  if (revision === part.rules.revision) return part;
  return checkAgain(deps, job, part, await importRules(tx, job, part.rules));
}

/** Merges the valid rows, and returns the errors of all others. */
async function mergeRows(tx: Tx, deps: Dependencies, job: ReadableImport, part: LanePart): Promise<ImportError[]> {
  const { entityId, sorId } = job;
  const refusals = await mergeAttributeValues(tx, deps.secrets, entityId, sorId, part.prepared, {
    dryRunOf: job.dryRun ? job.id : null,
    said: saidOf(job, part.rules),
  });
  await settleCorrected(tx, job, part.rows, refusals);
  const errors = await redactErased(tx, deps, entityId, part.rows.errors, () => 'user_id');
  if (refusals.length === 0) return errors;
  const pieces = await readBatchAgain(deps, job, part.offsets);
  return [...errors, ...refusals.map((refusal) => refusalError(pieces, refusal, part))];
}

/** Returns when the rows were said: a re-drive corrects rows of its first import, any other file has new values. */
function saidOf({ saidAt, receivedAt }: Import, { hasErrorColumns, layout }: ImportRules): Said {
  const isCorrection = saidAt !== null && (hasErrorColumns || layout !== undefined);
  return isCorrection ? { at: saidAt, isCorrection } : { at: receivedAt };
}

/** Settles the errors of the first import that these rows correct. */
async function settleCorrected(
  tx: Tx,
  { entityId, id, rootId, dryRun }: Import,
  { corrects }: LanePart['rows'],
  refusals: MergeRefusal[],
): Promise<void> {
  if (rootId === null || dryRun || corrects.size === 0) return;
  const refused = new Set(refusals.map(({ line }) => line));
  const settled = [...corrects].filter(([line]) => !refused.has(line)).map(([, corrected]) => corrected);
  await updateErrorsRedriven(tx, entityId, rootId, settled, id);
}

function refusalError(pieces: Batch['pieces'], refusal: MergeRefusal, { rules, rows }: LanePart): ImportError {
  const { line, attributeId } = refusal;
  const key = [...rules.attributes.values()].find(({ id }) => id === attributeId)?.key;
  if ('erasedHash' in refusal) {
    return {
      ...erasedError(line, refusal.erasedHash),
      column: rules.layout?.cells.find((cell) => cell.key === key)?.column ?? 0,
    };
  }
  const { errorType, message, customerId } = refusal;
  const error = rowError(
    pieces,
    line,
    { kind: 'failed', errorType, message, customerId, ...(key === undefined ? {} : { key }) },
    rules,
  );
  const original = rows.corrects.get(line);
  return { ...error, stage: 'merge', originalLine: original?.line ?? null, originalColumn: original?.column ?? 0 };
}

function progressAfter(held: LaneProgress, { rows, offsets }: LanePart, errors: ImportError[]): LaneProgress {
  const { rowsIn, cellsEmpty, cellsUnnamed, suspiciousIds } = rows;
  const ignored = countIgnored(errors);
  return {
    nextOffset: offsets.nextOffset,
    nextLine: offsets.nextLine,
    rowsIn: held.rowsIn + rowsIn,
    rowsOk: held.rowsOk + rowsIn - cellsEmpty - errors.length,
    rowsIgnored: held.rowsIgnored + ignored + cellsEmpty,
    cellsEmpty: held.cellsEmpty + cellsEmpty,
    cellsUnnamed: held.cellsUnnamed + cellsUnnamed,
    rowsFailed: held.rowsFailed + errors.length - ignored,
    suspiciousIds: held.suspiciousIds + suspiciousIds,
    errorsByType: addErrors(held.errorsByType, errors),
  };
}

function addErrors(before: ErrorCounts, errors: ImportError[]): ErrorCounts {
  const counts: ErrorCounts = {};
  for (const { errorType } of errors) counts[errorType] = (counts[errorType] ?? 0) + 1;
  return sumErrors([before, counts]);
}

function countRows(
  { countRows: count }: Dependencies,
  { rows: { rowsIn, cellsEmpty }, errors }: Pick<LanePart, 'rows'> & { errors: ImportError[] },
): void {
  const ignored = countIgnored(errors);
  count('ok', rowsIn - cellsEmpty - errors.length);
  count('ignored', ignored + cellsEmpty);
  count('failed', errors.length - ignored);
}

function countIgnored(errors: ImportError[]): number {
  return errors.filter(({ outcome }) => outcome === 'ignored').length;
}

/** Fails the import with one error for the file as a whole. Merged rows stay. */
export async function failImport(deps: Dependencies, job: JobKey, { errorType, message }: FileFailure): Promise<void> {
  await endWith(deps, job, 'failed', fileError(errorType, message));
}

/** Ends the import after all rows. If the source broke off, adds that as an error. */
export async function finishImport(deps: Dependencies, job: Import): Promise<void> {
  const defect = job.file?.sourceDefect ?? null;
  const error = defect === null ? null : fileError('FILE_TRANSFER_ERROR', defect);
  if (job.columnMapping !== null && job.parentId !== null && !job.dryRun) await settleTable(deps, job, job.parentId);
  await endWith(deps, { ...job, jobId: job.id }, 'finished', error);
}

/** Settles the lines that failed as a whole in the tables that this one repeats. */
async function settleTable(deps: Dependencies, { entityId, id, generation }: Import, parentId: number): Promise<void> {
  const settleSome = (tx: Tx) => updateTableRedriven(tx, entityId, parentId, id);
  while (
    await write(deps.db, async (tx) => (await lockImport(tx, entityId, id, generation)) !== null && settleSome(tx))
  );
}

/** Ends the import. An error of the file as a whole counts as no row. */
async function endWith(
  deps: Dependencies,
  { entityId, jobId, generation }: JobKey,
  state: 'finished' | 'failed',
  error: ImportError | null,
): Promise<void> {
  const ended = await write(deps.db, async (tx) => {
    const held = await lockImport(tx, entityId, jobId, generation);
    if (!held) return null;
    if (error) await insertImportErrors(tx, entityId, jobId, [error]);
    await updateImportEnded(tx, held, state);
    deps.boundary('import: before the end commits');
    return held;
  });
  deps.boundary('import: after the end committed');
  if (state === 'failed' && ended?.file) await deleteNotedFiles(deps, entityId, ended.file.fileKey);
}
