import { LaneQueue } from '../core/lane-queue.ts';
import { ERASED } from '../../domain/core/erased.ts';
import { laneOf } from '../../domain/core/hash.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { deletePinnedBatch, insertPinnedBatch, listPinnedBatches } from '../../store/syncs/pinned-batches.ts';
import { updateRunProgress } from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress } from '../../store/syncs/sync-run-record.ts';
import { lockRun } from '../../store/syncs/sync-runs.ts';
import { updateSyncCursor } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkBatch, type CheckedBatch } from './attributes.ts';
import { cursorBehind, cursorToNote, isErasedNamed } from './cursor.ts';
import { erasedAmong } from './erased.ts';
import type { Gathered, SyncItem } from './items.ts';
import type { SyncJob } from './job.ts';
import { type Merged, mergePart, type Part, type Target } from './merge.ts';
import { progressTaken, shareOf, type Taken } from './outcomes.ts';
import type { RunScope } from './scope.ts';

/**
 * A batch with fewer values to write is merged at once: to write it down first would cost more than a second session
 * saves.
 */
const FEWEST_VALUES = 4_000;

/**
 * Brings batches into attributes. A large one is pinned: written down as the source gave it, in the transaction that
 * commits the source's cursor behind it. Then its records are merged by lanes, each in a session of its own, which lets
 * both of two sessions commit their values with their counts: a source need not give the same batch twice. A customer's
 * records go by one lane, in their order.
 */
export class AttributeLanes {
  readonly #deps: Dependencies;
  readonly #job: SyncJob;
  readonly #target: Target;
  readonly #scope: RunScope;
  readonly #lanes: LaneQueue;
  /** Whether what was merged last had few values to write: then so has what follows, or so it is taken. */
  #isQuiet = false;

  constructor(deps: Dependencies, job: SyncJob, target: Target, scope: RunScope) {
    this.#deps = deps;
    this.#job = job;
    this.#target = target;
    this.#scope = scope;
    this.#lanes = new LaneQueue(job.run.progress.lanesDone.length);
  }

  /** Merges what an attempt before this one had pinned. */
  async resume(): Promise<void> {
    const {
      sync,
      run: { id, progress },
    } = this.#job;
    for (const { number, recordsBefore, position, items } of await listPinnedBatches(
      this.#deps.db,
      sync.entityId,
      id,
    )) {
      const checked = await checkBatch(this.#deps, sync, this.#target, JSON.parse(items) as SyncItem[], recordsBefore);
      this.#merge(checked, { number, position }, progress.lanesDone);
    }
    await this.settled();
  }

  /** Takes a batch over: once this is done it is merged, or pinned. Null when another attempt has moved the run on. */
  async take(batch: Gathered, checked: CheckedBatch, before: RunProgress): Promise<RunProgress | null> {
    const taken: Taken = {
      bytes: batch.bytes,
      share: shareOf(this.#job.run.progress, batch.done),
      position: cursorBehind(batch),
      unmappedFields: [...this.#target.mapper.unmapped],
      oddCursors: batch.oddCursors,
    };
    if (this.#isQuiet || valuesOf(checked) < FEWEST_VALUES) return this.#mergeAtOnce(checked, taken, before);
    await this.#lanes.free();
    const after = await this.#pin(batch.items, checked, taken, before);
    if (after) this.#merge(checked, { number: after.batchesTaken, position: after.position }, before.lanesDone);
    return after;
  }

  /** Once all that was taken over is merged. */
  async settled(): Promise<void> {
    await this.#lanes.done();
  }

  async #mergeAtOnce(checked: CheckedBatch, taken: Taken, before: RunProgress): Promise<RunProgress | null> {
    await this.settled();
    const {
      sync,
      run: { rootId },
    } = this.#job;
    const merged = await mergePart(this.#deps, this.#job, this.#target, {
      checked,
      isNext: ({ batchesTaken }) => batchesTaken === before.batchesTaken,
      advance: async (progress, tx) => {
        const after = progressTaken(progress, checked.records.length, await this.#noted(tx, taken, progress.position));
        return { ...after, lanesDone: after.lanesDone.map(() => after.batchesTaken) };
      },
      commitWith: async (tx, { position }) => {
        if (sync.mode === 'incremental' && rootId === null) await updateSyncCursor(tx, sync, position);
      },
    });
    if (merged) this.#learn(checked, merged, 1);
    return merged && merged.after;
  }

  async #pin(items: SyncItem[], checked: CheckedBatch, taken: Taken, before: RunProgress): Promise<RunProgress | null> {
    const {
      key,
      sync: { entityId },
    } = this.#job;
    const after = await write(this.#deps.db, async (tx) => {
      const run = await lockRun(tx, key);
      if (run?.progress.batchesTaken !== before.batchesTaken) return null;
      const progress = progressTaken(run.progress, items.length, await this.#noted(tx, taken, run.progress.position));
      const { recordsTaken: recordsBefore } = run.progress;
      const { batchesTaken: number, position } = progress;
      const kept = await this.#withoutErased(tx, items, checked);
      await insertPinnedBatch(tx, entityId, run.id, { number, recordsBefore, position, items: JSON.stringify(kept) });
      await updateRunProgress(tx, run, progress);
      this.#deps.boundary('sync: before a batch is pinned');
      return progress;
    });
    this.#deps.boundary('sync: after a batch was pinned');
    return after;
  }

  /** As it is noted down, with the cursor that may be. */
  async #noted(tx: Tx, taken: Taken, before: string | null): Promise<Taken> {
    return {
      ...taken,
      position: await cursorToNote(tx, this.#deps, this.#job.sync, { before, behind: taken.position }),
    };
  }

  /** Records of erased people only that there was a record. */
  async #withoutErased(tx: Tx, items: SyncItem[], { records }: CheckedBatch): Promise<SyncItem[]> {
    const erased = await erasedAmong(tx, this.#deps, this.#job.sync, () => records.map(({ key }) => key));
    return items.map((item, index) =>
      erased(records[index]!.key) ? { kind: 'malformed', raw: '', message: ERASED, isErased: true } : item,
    );
  }

  /** Leaves each lane its records of a batch, but those that it has merged. */
  #merge({ records, rules }: CheckedBatch, at: BatchCursor, lanesDone: readonly number[]): void {
    const parts = lanesDone.map((): CheckedBatch => ({ records: [], rules }));
    for (const record of records)
      parts[record.key === null ? 0 : laneOf(record.key, parts.length)]!.records.push(record);
    for (const [lane, checked] of parts.entries()) if (lanesDone[lane]! < at.number) this.#mergeIn(lane, checked, at);
    this.#lanes.nextBatch();
  }

  #mergeIn(lane: number, checked: CheckedBatch, at: BatchCursor): void {
    const merge = async () => {
      const merged = await mergePart(this.#deps, this.#job, this.#target, this.#partOf(lane, checked, at));
      if (!merged) throw new JobGone();
      this.#learn(checked, merged, this.#job.run.progress.lanesDone.length);
    };
    // A source may send nothing for long: if its records can't be written, nothing waits for it.
    this.#lanes.add(lane, merge, () => this.#scope.end());
  }

  /** Notes whether a batch changed few values. `parts`: how many parts it was merged in. */
  #learn(checked: CheckedBatch, { before, after }: Merged, parts: number): void {
    const valuesPerRecord = valuesOf(checked) / Math.max(1, checked.records.length);
    this.#isQuiet = (after.written - before.written) * valuesPerRecord * parts < FEWEST_VALUES;
  }

  #partOf(lane: number, checked: CheckedBatch, { number, position }: BatchCursor): Part {
    return {
      checked,
      isNext: ({ lanesDone }) => lanesDone[lane] === number - 1,
      advance: async (progress) => ({ ...progress, lanesDone: progress.lanesDone.with(lane, number) }),
      commitWith: async (tx, { lanesDone }) => {
        if (lanesDone.every((done) => done >= number)) await this.#endBatch(tx, { number, position });
      },
    };
  }

  /** All its records are merged. */
  async #endBatch(tx: Tx, { number, position }: BatchCursor): Promise<void> {
    const {
      sync,
      run: { id, rootId },
    } = this.#job;
    await deletePinnedBatch(tx, sync.entityId, id, number);
    if (sync.mode !== 'incremental' || rootId !== null) return;
    // Somebody may have been erased since the batch was pinned.
    if (!(await isErasedNamed(tx, this.#deps, sync, position))) await updateSyncCursor(tx, sync, position);
  }
}

type BatchCursor = { number: number; position: string | null };

function valuesOf({ records }: CheckedBatch): number {
  return records.reduce((sum, { rows }) => sum + rows.length, 0);
}
