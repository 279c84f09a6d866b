import type { Needs } from './needs.ts';
import type { RecordMapper } from './record-mapper.ts';
import { changesOf, checkBatch, type CheckedBatch, type CheckedRecord } from './sync-attributes.ts';
import { decideFates, type Fate } from './sync-fates.ts';
import type { Gathered } from './sync-items.ts';
import type { SyncJob } from './sync-job.ts';
import { noteBatch } from './sync-note.ts';
import type { AttributeChange } from '../domain/attribute-change.ts';
import { erasedError } from '../domain/erased-error.ts';
import { type Tx, write } from '../store/database.ts';
import { mergeAttributeValues, prepareChanges } from '../store/merge-attribute-values.ts';
import { findKnownRecords } from '../store/sync-records.ts';
import type { Sync } from '../store/sync-record.ts';
import type { RunProgress, SyncRun } from '../store/sync-run-record.ts';
import { lockRun } from '../store/sync-runs.ts';
import { holdSorRevision } from '../store/systems-of-records.ts';
import { erasedKey, findErased, hasErased } from '../store/tombstones.ts';

/**
 * A transaction merges so many values, of which so many may be Sets: where each of these holds 1,000 elements that takes some
 * five seconds, and a transaction may take thirty.
 */
const MOST_VALUES = 200_000;
const MOST_SETS = 1_000;

type Target = { sorId: number; mapper: RecordMapper };
type Prepared = CheckedBatch & { batch: Gathered; fates: Fate[] };
/** By the lines of the changes that were refused since their people are erased. */
type Erased = Map<number, Buffer>;
/** `moved`: another attempt has the run; `rules`: the SoR's attributes have changed since the records were checked. */
type Hindrance = 'moved' | 'rules';

/**
 * Commits a batch into the attributes of a SoR: its values, what is known of its records, its errors, its counts and the
 * cursor, in one transaction that holds the run. Where there are too many values for one, the others go before it: merged
 * once more after a crash, they change nothing. Null when another attempt has moved the run on.
 */
export async function mergeBatch(
  needs: Needs, job: SyncJob, target: Target, { batch, checked }: { batch: Gathered; checked: CheckedBatch }, before: RunProgress,
): Promise<RunProgress | null> {
  const { entityId, id: syncId } = job.sync;
  for (let current = checked; ;) {
    const known = await findKnownRecords(needs.db, entityId, syncId, current.records.flatMap(({ key }) => key ?? []));
    const fates = decideFates(current.records, known, job.run);
    const outcome = await mergePrepared(needs, job, target, { ...current, batch, fates }, before);
    if (outcome !== 'rules') return outcome === 'moved' ? null : outcome;
    current = await checkBatch(needs, job.sync, target, batch.items, before.read);
  }
}

async function mergePrepared(
  needs: Needs, job: SyncJob, target: Target, prepared: Prepared, before: RunProgress,
): Promise<RunProgress | Hindrance> {
  const { records, fates } = prepared;
  const changing = records.filter((_, index) => fates[index] !== 'unchanged' && fates[index] !== 'superseded');
  const portions = [...portionsOf(changesOf(changing))];
  const last = portions.pop() ?? [];
  const erased: Erased = new Map();
  const merge = mergerOf(needs, job, target.sorId, prepared, { before, erased });
  for (const portion of portions) {
    const merged = await write(needs.db, (tx) => merge(tx, portion), { collide: true });
    if (typeof merged === 'string') return merged;
  }
  const outcome = await write(needs.db, async (tx) => {
    const run = await merge(tx, last);
    return typeof run === 'string' ? run : note(tx, needs, { job, run, mapper: target.mapper }, prepared, erased);
  }, { collide: true });
  if (typeof outcome !== 'string') needs.boundary('sync: after a batch committed');
  return outcome;
}

type Merger = (tx: Tx, changes: AttributeChange[]) => Promise<SyncRun | Hindrance>;

/** Merges changes in a transaction that holds the run. */
function mergerOf(
  { secrets }: Needs, { key, sync: { entityId } }: SyncJob, sorId: number, { rules }: Prepared,
  { before, erased }: { before: RunProgress; erased: Erased },
): Merger {
  return async (tx, changes) => {
    const run = await lockRun(tx, key);
    if (run?.progress.read !== before.read) return 'moved';
    const revision = await holdSorRevision(tx, entityId, sorId);
    if (!rules.sorDeleted && revision !== rules.revision) return 'rules';
    if (changes.length === 0) return run;
    for (const refusal of await mergeAttributeValues(tx, secrets, entityId, sorId, prepareChanges(changes))) {
      // A whole Set and its emptying always find room.
      if ('erasedHash' in refusal) erased.set(refusal.line, refusal.erasedHash);
    }
    return run;
  };
}

/** Parts of the changes that one transaction takes. */
function* portionsOf(changes: AttributeChange[]): Generator<AttributeChange[]> {
  let start = 0;
  let sets = 0;
  for (const [index, { kind }] of changes.entries()) {
    if (index - start >= MOST_VALUES || sets >= MOST_SETS) {
      yield changes.slice(start, index);
      start = index;
      sets = 0;
    }
    if (kind === 'set') sets += 1;
  }
  if (start < changes.length) yield changes.slice(start);
}

type Noted = { job: SyncJob; run: SyncRun; mapper: RecordMapper };

/** All that is to be kept of a batch besides its values, in the transaction of the last of them. */
async function note(
  tx: Tx, needs: Needs, { job: { sync }, run, mapper }: Noted, prepared: Prepared, erased: Erased,
): Promise<RunProgress> {
  await findErasedOf(tx, needs, sync, prepared.records, erased);
  const records = prepared.records.map((record) => withoutErased(record, erased));
  const fates = prepared.fates.map((fate, index) => (erased.has(records[index]!.ordinal) ? 'failed' : fate));
  const { bytes, cursor } = prepared.batch;
  const position = cursor === null ? null : JSON.stringify(cursor);
  return noteBatch(tx, needs, { sync, run }, { records, fates, bytes, position, unmappedFields: [...mapper.unmapped] });
}

/** The merge has told of those whose values it was given: a record may have none, be as it was, or come twice. */
async function findErasedOf(
  tx: Tx, { secrets }: Needs, { entityId, mapping }: Sync, records: readonly CheckedRecord[], erased: Erased,
): Promise<void> {
  if (!await hasErased(tx, entityId)) return;
  const customerType = mapping.customer!.type;
  const people = records.flatMap(({ key }) => (key === null ? [] : [{ customerType, customerId: key }]));
  const found = await findErased(tx, secrets, entityId, people);
  for (const { ordinal, key } of records) {
    const hash = key === null ? undefined : found.get(erasedKey({ customerType, customerId: key }));
    if (hash) erased.set(ordinal, hash);
  }
}

/** Nothing is known of an erased person, not even a checksum. */
function withoutErased(record: CheckedRecord, erased: Erased): CheckedRecord {
  const hash = erased.get(record.ordinal);
  if (!hash) return record;
  return { ...record, key: null, checksum: null, error: { ...erasedError(record.ordinal, hash), originalLine: record.rootLine } };
}
