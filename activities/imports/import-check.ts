/** Checks a batch of an import by the rules, and prepares its lanes' merges. */
import { setImmediate } from 'node:timers/promises';
import type { AttributeChange } from '../../domain/attributes/attribute-change.ts';
import type { Piece } from '../../domain/csv/csv-pieces.ts';
import { isCutOff } from '../../domain/imports/source-defect.ts';
import { type CheckedRows, checkPieces, type LaneCursors, nothingChecked } from '../../domain/imports/import-batch.ts';
import { ChangesPreparation, type PreparedChanges } from '../../store/attributes/merge-attribute-values.ts';
import { inSlices } from '../../store/core/yield-to-event-loop.ts';
import type { ReadableImport } from '../../store/imports/import-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Batch, type BatchOffsets, readBatchAgain } from './import-batches.ts';
import type { ImportRules } from './import-rules.ts';

/** A lane's rows of a batch, checked by the rules when it was read; it keeps only what the merge needs. */
export type LanePart = {
  offsets: BatchOffsets;
  lane: number;
  lanes: LaneCursors;
  rules: ImportRules;
  rows: Omit<CheckedRows, 'changes'>;
  prepared: PreparedChanges;
};

/**
 * Maximum number of Sets, or a few more, that a lane merges in one transaction: with 1,000 elements each this takes
 * about five of the allowed thirty seconds.
 */
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
export async function checkAgain(
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
