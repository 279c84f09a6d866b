// Merges the batches of a sync into the attributes of a SoR, by lanes.
import type { AttributeChange } from '../../domain/attributes/attribute-change.ts';
import { ERASED } from '../../domain/core/erased.ts';
import { laneOf } from '../../domain/core/hash.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import { mergeAttributeValues, prepareChanges } from '../../store/attributes/merge-attribute-values.ts';
import { holdSorRevision } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { deletePinnedBatch, insertPinnedBatch, listPinnedBatches } from '../../store/syncs/pinned-batches.ts';
import { findKnownRecords, type KnownRecord } from '../../store/syncs/sync-records.ts';
import { updateRunProgress } from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress } from '../../store/syncs/sync-run-record.ts';
import { findRunById, lockRun } from '../../store/syncs/sync-runs.ts';
import { updateSyncCursor } from '../../store/syncs/syncs.ts';
import { inSlot } from '../core/in-slot.ts';
import { LaneQueue } from '../core/lane-queue.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkBatch, type CheckedBatch, type CheckedRecord, numbered } from './attributes.ts';
import { cursorBehind, cursorToNote, isErasedNamed } from './cursor.ts';
import { erasedAmong } from './erased.ts';
import type { JoinedBatch, SyncItem } from './items.ts';
import type { RunScope, SyncJob } from './job.ts';
import {
  countRecords,
  decideOutcomes,
  progressAfter,
  progressTaken,
  type RecordOutcome,
  recordOutcomes,
  shareOf,
  type Taken,
} from './outcomes.ts';
import type { RecordMapper } from './record-mapper.ts';

/**
 * Maximum number of values in a transaction, and of Sets among them: Sets of 1,000 elements each take some five
 * seconds, and a transaction may take thirty.
 */
const MAX_VALUES = 200_000;
const MAX_SETS = 1_000;

type Target = { sorId: number; mapper: RecordMapper };

/** Records that are merged together, and what they are to the run. */
type Part = {
  checked: CheckedBatch;
  /** Whether a run that stands there still waits for these records. */
  isNext(progress: RunProgress): boolean;
  /** How far it is after them, the counts left out. */
  advance(progress: RunProgress, tx: Tx): Promise<RunProgress>;
  /** Commits more with them. */
  commitWith(tx: Tx, after: RunProgress): Promise<void>;
};

/** How far a run was before some records were merged, and is after them. */
type Merged = { before: RunProgress; after: RunProgress };

type Prepared = CheckedBatch & { known: Map<string, KnownRecord>; outcomes: RecordOutcome[] };
/** By the lines of the changes that were refused since their people are erased. */
type Erased = Map<number, Buffer>;
/** `moved`: another attempt has the run; `rules`: the SoR's attributes have changed since the records were checked. */
type Hindrance = 'moved' | 'rules';

/** The run is not where this attempt left it, or the rules are others. */
class Hindered extends Error {
  override readonly name = 'Hindered';
  readonly hindrance: Hindrance;
  constructor(hindrance: Hindrance) {
    super(hindrance);
    this.hindrance = hindrance;
  }
}

/**
 * Commits records of a batch into the attributes of a SoR: their values, what is known of them, their errors, their
 * counts and how far the run is, in one transaction that ends by holding the run. Where there are too many values for
 * one, the others go before it: merged once more after a crash, they change nothing. Null when another attempt has
 * moved the run on.
 */
async function mergePart(deps: Dependencies, job: SyncJob, target: Target, part: Part): Promise<Merged | null> {
  const { entityId, id: syncId } = job.sync;
  return inSlot(deps.takePartSlot, entityId, async () => {
    for (let { checked } = part; ;) {
      const known = await findKnownRecords(
        deps.db,
        entityId,
        syncId,
        checked.records.flatMap(({ key }) => key ?? []),
      );
      const outcomes = decideOutcomes(checked.records, known, job.run);
      const outcome = await mergePrepared(deps, job, target, part, { ...checked, known, outcomes });
      if (outcome === 'moved') return null;
      if (outcome !== 'rules') return outcome;
      checked = await checkBatch(deps, job.sync, target, checked.records);
    }
  });
}

async function mergePrepared(
  deps: Dependencies,
  job: SyncJob,
  { sorId }: Target,
  part: Part,
  prepared: Prepared,
): Promise<Merged | Hindrance> {
  const { records, outcomes } = prepared;
  const changing = records.filter((_, index) => outcomes[index] !== 'unchanged' && outcomes[index] !== 'superseded');
  const portions = [...portionsOf(changesOf(changing))];
  const last = portions.pop() ?? [];
  const erased: Erased = new Map();
  const merge = mergerOf(deps, job, sorId, part, { prepared, erased });
  try {
    for (const portion of portions) {
      await write(deps.db, (tx) => merge(tx, portion, async () => heldRun(tx, job, part)), { collide: true });
    }
    const merged = await write(deps.db, (tx) => merge(tx, last, () => note(tx, deps, job, part, prepared, erased)), {
      collide: true,
    });
    countRecords(deps, merged.before, merged.after);
    deps.boundary('sync: after a batch committed');
    return merged;
  } catch (error) {
    if (error instanceof Hindered) return error.hindrance;
    throw error;
  }
}

type Merger = <T>(tx: Tx, changes: AttributeChange[], end: () => Promise<T>) => Promise<T>;

/**
 * Merges changes in a transaction. The run is held at its end alone, so that the lanes of a batch wait for each other
 * no longer than for a commit; one that has been moved on takes all of it back.
 */
function mergerOf(
  { secrets }: Dependencies,
  { key, sync: { entityId } }: SyncJob,
  sorId: number,
  part: Part,
  { prepared: { rules }, erased }: { prepared: Prepared; erased: Erased },
): Merger {
  return async (tx, changes, end) => {
    const run = await findRunById(tx, entityId, key.jobId);
    if (!run || run.generation !== key.generation || run.state !== 'running' || !part.isNext(run.progress))
      throw new Hindered('moved');
    const revision = await holdSorRevision(tx, entityId, sorId);
    if (!rules.sorDeleted && revision !== rules.revision) throw new Hindered('rules');
    if (changes.length === 0) return end();
    const said = { runId: key.jobId };
    for (const refusal of await mergeAttributeValues(tx, secrets, entityId, sorId, prepareChanges(changes), { said })) {
      // A whole Set and its emptying always find room.
      if ('erasedHash' in refusal) erased.set(refusal.line, refusal.erasedHash);
    }
    return end();
  };
}

/** Held until the transaction ends. */
async function heldRun(tx: Tx, { key }: SyncJob, part: Part) {
  const run = await lockRun(tx, key);
  if (!run || !part.isNext(run.progress)) throw new Hindered('moved');
  return run;
}

/** Returns the changes that the records make; a change's line is its record's ordinal. */
function changesOf(records: readonly CheckedRecord[]): AttributeChange[] {
  return records.flatMap(({ rows, ordinal }) => rows.map((row): AttributeChange => ({ ...row, line: ordinal })));
}

/** Parts of the changes that one transaction takes. */
function* portionsOf(changes: AttributeChange[]): Generator<AttributeChange[]> {
  let start = 0;
  let sets = 0;
  for (const [index, { kind }] of changes.entries()) {
    if (index - start >= MAX_VALUES || sets >= MAX_SETS) {
      yield changes.slice(start, index);
      start = index;
      sets = 0;
    }
    if (kind === 'set') sets += 1;
  }
  if (start < changes.length) yield changes.slice(start);
}

/** All that is to be kept of the records besides their values, in the transaction of the last of them. */
async function note(
  tx: Tx,
  deps: Dependencies,
  job: SyncJob,
  part: Part,
  prepared: Prepared,
  erased: Erased,
): Promise<Merged> {
  const { sync } = job;
  // The merge has told of those whose values it was given: a record may have none, be as it was, or come twice.
  const isErased = await erasedAmong(tx, deps, sync, () => prepared.records.map(({ key }) => key));
  for (const { ordinal, key } of prepared.records) {
    const hash = isErased(key);
    if (hash) erased.set(ordinal, hash);
  }
  const records = prepared.records.map((record) => withoutErased(record, erased));
  const outcomes = prepared.outcomes.map((outcome, index) =>
    erased.has(records[index]!.ordinal) ? 'failed' : outcome,
  );
  const errors = await recordOutcomes(tx, deps, job, { records, outcomes, known: prepared.known });
  const run = await heldRun(tx, job, part);
  const after = progressAfter(await part.advance(run.progress, tx), { records, outcomes, errors });
  await updateRunProgress(tx, run, after);
  await part.commitWith(tx, after);
  deps.boundary('sync: before a batch commits');
  return { before: run.progress, after };
}

/** Nothing is known of an erased person, not even a checksum. */
function withoutErased(record: CheckedRecord, erased: Erased): CheckedRecord {
  const hash = erased.get(record.ordinal);
  if (!hash) return record;
  return {
    ...record,
    key: null,
    checksum: null,
    error: { ...erasedError(record.ordinal, hash), originalLine: record.rootLine },
  };
}

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
      const pinned = numbered(JSON.parse(items) as SyncItem[], recordsBefore);
      const checked = await checkBatch(this.#deps, sync, this.#target, pinned);
      this.#merge(checked, { number, position }, progress.lanesDone);
    }
    await this.settled();
  }

  /** Takes a batch over: once this is done it is merged, or pinned. Null when another attempt has moved the run on. */
  async take(batch: JoinedBatch, checked: CheckedBatch, before: RunProgress): Promise<RunProgress | null> {
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
