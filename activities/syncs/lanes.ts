// Merges the batches of a sync into the attributes of a SoR. A large batch is stored first ("pinned"), then merged in
// parallel lanes, by customer.
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
import { withKeysOfSource } from './deletions.ts';
import { erasedAmong } from './erased.ts';
import type { JoinedBatch, SyncItem } from './items.ts';
import type { RunScope, SyncJob } from './job.ts';
import {
  countRecords,
  decideOutcomes,
  keysOf,
  progressAfter,
  progressTaken,
  type RecordOutcome,
  recordOutcomes,
  shareOf,
  type Taken,
} from './outcomes.ts';
import type { RecordMapper } from './record-mapper.ts';

/**
 * Maximum numbers of values and of Sets per transaction: 1,000 Sets of 1,000 elements take some 5 of its 30 seconds.
 */
const MAX_VALUES = 200_000;
const MAX_SETS = 1_000;

type Target = { sorId: number; mapper: RecordMapper };

/** Records that are merged together, and their effect on the run's progress. */
type Part = {
  checked: CheckedBatch;
  /** Returns whether a run with this progress has not merged these records yet. */
  isNext(progress: RunProgress): boolean;
  /** Returns the run's progress after these records, without their counts. */
  advance(progress: RunProgress, tx: Tx): Promise<RunProgress>;
  /** Writes more in the transaction that commits the records. */
  commitWith(tx: Tx, after: RunProgress): Promise<void>;
};

/** Progress of a run before and after some records were merged. */
type Merged = { before: RunProgress; after: RunProgress };

type Prepared = CheckedBatch & { known: Map<string, KnownRecord>; outcomes: RecordOutcome[] };
/** Keyed hashes of erased people, by the ordinals of their records. */
type Erased = Map<number, Buffer>;
/** `moved`: another attempt has advanced the run; `rules`: the SoR's attributes have changed since the check. */
type Hindrance = 'moved' | 'rules';

/** Rolls back a merge: another attempt has advanced the run, or the SoR's attributes have changed. */
class Hindered extends Error {
  override readonly name = 'Hindered';
  readonly hindrance: Hindrance;
  constructor(hindrance: Hindrance) {
    super(hindrance);
    this.hindrance = hindrance;
  }
}

/**
 * Commits records with values, errors, counts and progress in one transaction that locks the run last. Excess values
 * commit before: merged again, they change nothing. Returns null if another attempt has advanced the run.
 */
async function mergePart(deps: Dependencies, job: SyncJob, target: Target, part: Part): Promise<Merged | null> {
  const { entityId, id: syncId } = job.sync;
  return inSlot(deps.takePartSlot, entityId, async () => {
    for (let { checked } = part; ;) {
      checked = { ...checked, records: await withKeysOfSource(deps.db, job.sync, checked.records) };
      const known = await findKnownRecords(deps.db, entityId, syncId, keysOf(checked.records));
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
 * Returns a function that merges changes in a transaction. It locks the run last, so that lanes wait for each other
 * only while they commit, and rolls back if another attempt has advanced the run.
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
      // No other refusal occurs: a whole Set, or an empty one, never exceeds the limit of elements.
      if ('erasedHash' in refusal) erased.set(refusal.line, refusal.erasedHash);
    }
    return end();
  };
}

/** Locks the run until the transaction ends. Throws if another attempt has advanced it. */
async function heldRun(tx: Tx, { key }: SyncJob, part: Part) {
  const run = await lockRun(tx, key);
  if (!run || !part.isNext(run.progress)) throw new Hindered('moved');
  return run;
}

/** Returns the records' changes; the line of a change is the ordinal of its record. */
function changesOf(records: readonly CheckedRecord[]): AttributeChange[] {
  return records.flatMap(({ rows, ordinal }) => rows.map((row): AttributeChange => ({ ...row, line: ordinal })));
}

/** Yields the changes in portions that fit in one transaction. */
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

/** Records outcomes, counts and progress, in the transaction that merges the last of the values. */
async function note(
  tx: Tx,
  deps: Dependencies,
  job: SyncJob,
  part: Part,
  prepared: Prepared,
  erased: Erased,
): Promise<Merged> {
  const { sync } = job;
  // The merge reports erased people only for records that have values to merge, so all records are checked here.
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

/** Removes key and checksum from a record of an erased person, and makes it an error. */
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
 * Minimum number of values for a batch to be pinned: below it, storing the batch costs more than a second lane saves.
 */
const FEWEST_VALUES = 4_000;

/**
 * Merges batches into attributes. Stores a large batch ("pins" it) as it moves the source's cursor; lanes, each with a
 * database session, then merge it in parallel. A customer's records go to one lane, in order.
 */
export class AttributeLanes {
  readonly #deps: Dependencies;
  readonly #job: SyncJob;
  readonly #target: Target;
  readonly #scope: RunScope;
  readonly #lanes: LaneQueue;
  /** True if the last merge wrote few values: the next batch is then expected to write few, too. */
  #isQuiet = false;

  constructor(deps: Dependencies, job: SyncJob, target: Target, scope: RunScope) {
    this.#deps = deps;
    this.#job = job;
    this.#target = target;
    this.#scope = scope;
    this.#lanes = new LaneQueue(job.run.progress.lanesDone.length);
  }

  /** Merges the batches that an earlier attempt pinned. */
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

  /**
   * Merges or pins a batch, and returns the run's new progress. Returns null if another attempt has advanced the run.
   */
  async take(batch: JoinedBatch, checked: CheckedBatch, before: RunProgress): Promise<RunProgress | null> {
    const taken: Taken = {
      bytes: batch.bytes,
      share: shareOf(this.#job.run.progress, batch.done),
      position: cursorBehind(batch),
      unmappedFields: [...this.#target.mapper.unmapped],
      oddCursors: batch.oddCursors,
    };
    // A deletion may be of a record that is still on its way.
    const deletes = this.#job.sync.removes && batch.items.some(({ kind }) => kind === 'deleted');
    if (deletes || this.#isQuiet || valuesOf(checked) < FEWEST_VALUES) return this.#mergeAtOnce(checked, taken, before);
    await this.#lanes.free();
    const after = await this.#pin(batch.items, checked, taken, before);
    if (after) this.#merge(checked, { number: after.batchesTaken, position: after.position }, before.lanesDone);
    return after;
  }

  /** Waits until all pinned batches are merged. */
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

  /** Returns the batch's progress with a cursor that names no erased person. */
  async #noted(tx: Tx, taken: Taken, before: string | null): Promise<Taken> {
    return {
      ...taken,
      position: await cursorToNote(tx, this.#deps, this.#job.sync, { before, behind: taken.position }),
    };
  }

  /** Replaces each record of an erased person by a malformed item, which keeps its ordinal. */
  async #withoutErased(tx: Tx, items: SyncItem[], { records }: CheckedBatch): Promise<SyncItem[]> {
    const erased = await erasedAmong(tx, this.#deps, this.#job.sync, () => records.map(({ key }) => key));
    return items.map((item, index) =>
      erased(records[index]!.key) ? { kind: 'malformed', raw: '', message: ERASED, isErased: true } : item,
    );
  }

  /** Gives each lane its records of a batch, unless it has merged them already. */
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
    // If a lane fails, reading stops at once: the source may send nothing for a long time.
    this.#lanes.add(lane, merge, () => this.#scope.end());
  }

  /** Updates `isQuiet` after a batch that was merged in `parts` parts. */
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

  /** Deletes a pinned batch once all lanes have merged it, and moves the sync's cursor past it. */
  async #endBatch(tx: Tx, { number, position }: BatchCursor): Promise<void> {
    const {
      sync,
      run: { id, rootId },
    } = this.#job;
    await deletePinnedBatch(tx, sync.entityId, id, number);
    if (sync.mode !== 'incremental' || rootId !== null) return;
    // A person may have been erased since the batch was pinned.
    if (!(await isErasedNamed(tx, this.#deps, sync, position))) await updateSyncCursor(tx, sync, position);
  }
}

type BatchCursor = { number: number; position: string | null };

function valuesOf({ records }: CheckedBatch): number {
  return records.reduce((sum, { rows }) => sum + rows.length, 0);
}
