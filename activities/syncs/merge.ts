import type { AttributeChange } from '../../domain/attributes/attribute-change.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import { mergeAttributeValues, prepareChanges } from '../../store/attributes/merge-attribute-values.ts';
import { holdSorRevision } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { findKnownRecords, type KnownRecord } from '../../store/syncs/sync-records.ts';
import { updateRunProgress } from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress } from '../../store/syncs/sync-run-record.ts';
import { findRunById, lockRun } from '../../store/syncs/sync-runs.ts';
import { inSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';
import { changesOf, checkAgain, type CheckedBatch, type CheckedRecord } from './attributes.ts';
import { erasedAmong } from './erased.ts';
import type { SyncJob } from './job.ts';
import { countRecords, decideOutcomes, progressAfter, type RecordOutcome } from './outcomes.ts';
import type { RecordMapper } from './record-mapper.ts';
import { recordOutcomes } from './record-outcomes.ts';

/**
 * A transaction merges so many values, of which so many may be Sets: where each of these holds 1,000 elements that
 * takes some five seconds, and a transaction may take thirty.
 */
const MAX_VALUES = 200_000;
const MAX_SETS = 1_000;

export type Target = { sorId: number; mapper: RecordMapper };

/** Records that are merged together, and what they are to the run. */
export type Part = {
  checked: CheckedBatch;
  /** Whether a run that stands there still waits for these records. */
  isNext(progress: RunProgress): boolean;
  /** How far it is after them, the counts left out. */
  advance(progress: RunProgress, tx: Tx): Promise<RunProgress>;
  /** Commits more with them. */
  commitWith(tx: Tx, after: RunProgress): Promise<void>;
};

/** How far a run was before some records were merged, and is after them. */
export type Merged = { before: RunProgress; after: RunProgress };

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
export async function mergePart(deps: Dependencies, job: SyncJob, target: Target, part: Part): Promise<Merged | null> {
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
      checked = await checkAgain(deps, job.sync, target, checked.records);
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
