import type { HeaderReading } from '../../domain/imports/import-file.ts';
import { listImportLanes } from '../../store/imports/import-lanes.ts';
import type { ReadableImport } from '../../store/imports/import-record.ts';
import { inSlot, type NoteWait, takeSlot } from '../core/in-slot.ts';
import { stopIfAsked } from '../core/stop-if-asked.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Batch, readBatches } from './import-batches.ts';
import { checkBatch, type LanePart } from './import-check.ts';
import { mergePart } from './import-merge.ts';
import { OvertakenLines } from './import-overtaken.ts';
import { importRules, type ImportRules } from './import-rules.ts';

/** `moved`: another attempt at this step has committed meanwhile, and the cursors are to be read again. */
export type Outcome = 'done' | 'moved';

/** A lane is not where this attempt left it. */
class LaneMoved extends Error {
  override readonly name = 'LaneMoved';
}

/** So many batches of an import may be on their way at once: one is merged while the next waits for its lanes. */
const BATCHES_AHEAD = 2;

/**
 * Merges what is left of the pinned file: batch by batch, each batch's rows spread over the lanes, each lane in a
 * session of its own. A lane takes its parts in the order of the file; lanes don't wait for each other, but for
 * the batches that may be on their way.
 */
export async function loadLanes(
  deps: Dependencies,
  job: ReadableImport,
  header: HeaderReading & { ok: true },
): Promise<Outcome> {
  const cursors = (await listImportLanes(deps.db, job.entityId, job.id)).map(({ nextOffset }) => nextOffset);
  const start = job.nextOffset > 0 ? { offset: job.nextOffset, line: job.nextLine } : header;
  const open = () => deps.files.read(job.file.fileKey, start.offset);
  const rowsOfRecord = header.format.layout?.cells.length ?? 1;
  const batches = readBatches(open, job.fileFormat, start.offset, start.line, deps.batchRecords / rowsOfRecord);
  const lanes = new Lanes(deps, job, cursors, await importRules(deps.db, job, header.format));
  try {
    await lanes.takeAll(batches);
    return 'done';
  } catch (error) {
    if (error instanceof LaneMoved) return 'moved';
    throw error;
  } finally {
    await lanes.settled();
    await batches.return(undefined); // and closes the file
  }
}

class Lanes {
  readonly #deps: Dependencies;
  readonly #job: ReadableImport;
  /** Where each lane stood at the beginning: rows before it are done. */
  readonly #done: readonly number[];
  /** Where each lane stands now. */
  readonly #cursors: number[];
  /** The last part of each lane, and all before it. */
  readonly #tails: Promise<void>[];
  readonly #noteWait: NoteWait;
  readonly #overtaken: OvertakenLines;
  #rules: ImportRules;
  /** Whether no batch has begun yet. */
  #isFirst = true;

  constructor(deps: Dependencies, job: ReadableImport, cursors: readonly number[], rules: ImportRules) {
    this.#deps = deps;
    this.#job = job;
    this.#done = cursors;
    this.#cursors = [...cursors];
    this.#tails = cursors.map(() => Promise.resolve());
    this.#noteWait = noteWaitOf(deps, 'import', { ...job, jobId: job.id });
    this.#overtaken = new OvertakenLines(deps, job);
    this.#rules = rules;
  }

  async takeAll(batches: AsyncGenerator<Batch>): Promise<void> {
    const underWay: Promise<unknown>[] = [];
    for (let merged = await this.#begin(batches); merged; merged = await this.#begin(batches)) {
      underWay.push(merged.end);
      if (underWay.length >= BATCHES_AHEAD) await underWay.shift();
      stopIfAsked(this.#deps);
    }
    await Promise.all(underWay);
  }

  /** What has begun ends before the step does, so that nothing of it goes on behind the step's back. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#tails);
  }

  /** Reads and checks the next batch, and hands it to the lanes; it keeps its turn until they have merged it. */
  async #begin(batches: AsyncGenerator<Batch>): Promise<{ end: Promise<unknown> } | null> {
    const freeSlot = await takeSlot(this.#deps.takeBatchSlot, this.#job.entityId, this.#noteWait, this.#isFirst);
    this.#isFirst = false;
    let end: Promise<unknown> = Promise.resolve();
    try {
      const isBegun = await this.#asPart(async () => {
        const { value: batch, done } = await batches.next();
        if (!done) await this.#handOver(batch);
        return !done;
      }).finally(() => {
        end = Promise.all(this.#tails);
      });
      return isBegun ? { end } : null;
    } finally {
      // a failure goes to the caller that waits for the end; after an earlier one none may
      end.then(freeSlot, freeSlot);
    }
  }

  #asPart<T>(work: () => Promise<T>): Promise<T> {
    return inSlot(this.#deps.takePartSlot, this.#job.entityId, work);
  }

  async #handOver(batch: Batch): Promise<void> {
    const rules = { ...this.#rules, overtaken: await this.#overtaken.in(batch.offsets, this.#rules) };
    for await (const parts of checkBatch(this.#deps, this.#job, batch, this.#done, rules)) {
      for (const part of parts) this.#tails[part.lane] = this.#tails[part.lane]!.then(() => this.#merge(part));
    }
  }

  async #merge(part: LanePart): Promise<void> {
    if (part.offsets.nextOffset <= this.#cursors[part.lane]!) return;
    const rules = await this.#asPart(() => mergePart(this.#deps, this.#job, part, this.#cursors[part.lane]!));
    if (!rules) throw new LaneMoved();
    this.#rules = rules;
    this.#cursors[part.lane] = part.offsets.nextOffset;
  }
}
