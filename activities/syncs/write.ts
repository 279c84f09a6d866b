// Writes the batches of a run to attributes or another connection; a dry run records what it would write.
import { isDeepStrictEqual } from 'node:util';
import type { SourceRecord } from '../../connectors/core/contract.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import { isKeptByDouble } from '../../domain/text/number-value.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { streamProfileValues } from '../../store/attributes/profile-values.ts';
import { write } from '../../store/core/database.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import { insertImportErrors } from '../../store/imports/import-errors.ts';
import { findKnownRecords } from '../../store/syncs/sync-records.ts';
import { updateRunProgress, updateSample } from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress, SampleRecord } from '../../store/syncs/sync-run-record.ts';
import { lockRun } from '../../store/syncs/sync-runs.ts';
import type { SorRules } from '../attributes/sor-rules.ts';
import type { Dependencies } from '../dependencies.ts';
import { redactErased } from '../gdpr/redact-erased.ts';
import { checkBatch, type CheckedBatch, type CheckedRecord, numbered } from './attributes.ts';
import { cursorBehind, cursorToNote } from './cursor.ts';
import { Deliveries, type OutgoingBatch } from './deliveries.ts';
import { sayDeletion, withKeysOfSource } from './deletions.ts';
import { customerTypeOf, erasedAmong, isAnyErased } from './erased.ts';
import type { JoinedBatch } from './items.ts';
import type { RunScope, SyncEnds, SyncJob } from './job.ts';
import { AttributeLanes } from './lanes.ts';
import {
  type BatchRecord,
  decideOutcomes,
  keysOf,
  progressAfter,
  progressTaken,
  type RecordOutcome,
} from './outcomes.ts';
import { outgoingOf } from './outgoing.ts';
import type { RecordMapper } from './record-mapper.ts';

/** A batch whose records are checked for attributes, or mapped for another destination. */
export type PreparedBatch = {
  batch: JoinedBatch;
  checked?: CheckedBatch;
  outgoing?: OutgoingBatch;
  /** True if it has new fields, which the sync's rule forbids: it must not be written. */
  isToStop: boolean;
};

export type BatchWriter = {
  /** Finishes the batches that an earlier attempt left unfinished. */
  resume(): Promise<void>;
  /** Prepares a batch that follows `read` records of its run. */
  prepare(batch: JoinedBatch, read: number): Promise<PreparedBatch>;
  /**
   * Commits or pins a batch, and returns the run's progress. Returns null if another attempt has advanced the run,
   * `stopped` if the sync's rule forbids new fields.
   */
  write(prepared: PreparedBatch, progress: RunProgress): Promise<RunProgress | 'stopped' | null>;
  /** Waits until all batches are committed. Throws if one fails. */
  settled(): Promise<void>;
};

type Tools = { mapper: RecordMapper; scope: RunScope };

export function batchWriter(deps: Dependencies, job: SyncJob, ends: SyncEnds, { mapper, scope }: Tools): BatchWriter {
  const { destination } = job.sync;
  const nothing = async () => {};
  const atOnce = { resume: nothing, settled: nothing };
  if (job.run.dryRun) {
    return {
      ...atOnce,
      prepare: async (batch) => ({ batch, isToStop: false }),
      write: ({ batch }, progress) => dryRunBatch(deps, job, mapper, batch, progress),
    };
  }
  if ('sorId' in destination) {
    const target = { sorId: destination.sorId, mapper };
    const lanes = new AttributeLanes(deps, job, target, scope);
    return {
      resume: () => lanes.resume(),
      settled: () => lanes.settled(),
      prepare: async (batch, read) => {
        const checked = await checkBatch(deps, job.sync, target, numbered(batch.items, read));
        return { batch, checked, isToStop: mapper.isToStop };
      },
      write: ({ batch, checked }, progress) => lanes.take(batch, checked!, progress),
    };
  }
  const deliveries = new Deliveries(deps, job, { ...destination, open: ends.destination!, mapper, scope });
  return {
    resume: nothing,
    settled: () => deliveries.settled(),
    prepare: async (batch, read) => {
      const outgoing = await deliveries.prepare(batch, read);
      return { batch, outgoing, isToStop: mapper.isToStop };
    },
    write: ({ outgoing }, progress) => deliveries.write(outgoing!, progress),
  };
}

/** Maximum number of sample records, changed ones first. */
const MAX_SHOWN = 20;
/** Maximum length of a sample record as JSON. */
const MAX_SHOWN_CHARS = 10_000;

/** Findings of a dry run about a batch; `people`: customer ids of its records. */
type Findings = {
  records: readonly BatchRecord[];
  people: (string | null)[];
  outcomes: RecordOutcome[];
  sample: SampleRecord[];
};

/** Checks a batch as a run would, and stores a sample of what that run would write. */
async function dryRunBatch(
  deps: Dependencies,
  job: SyncJob,
  mapper: RecordMapper,
  batch: JoinedBatch,
  before: RunProgress,
): Promise<RunProgress | 'stopped' | null> {
  const items = batch.items.slice(0, job.run.dryRunRecords! - before.read);
  const { destination } = job.sync;
  const findings =
    'sorId' in destination
      ? await lookAtAttributes(deps, job, destination.sorId, mapper, items, before.read)
      : await lookAtRecords(deps, job, destination.key, mapper, items, before.read);
  if (mapper.isToStop) return 'stopped';
  const noted = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, job.key);
    if (run?.progress.read !== before.read) return null;
    if (await isAnyErased(tx, deps, job.sync, findings.people)) return 'erased';
    const errors = await redactErased(
      tx,
      deps,
      job.sync.entityId,
      findings.records.flatMap(({ error }) => error ?? []),
      () => customerTypeOf(job.sync),
    );
    await insertImportErrors(tx, job.sync.entityId, run.id, errors);
    await updateSample(tx, run, shownFirst([...(run.sample ?? []), ...findings.sample]).slice(0, MAX_SHOWN));
    const position = await cursorToNote(tx, deps, job.sync, {
      before: run.progress.position,
      behind: cursorBehind(batch),
    });
    const taken = progressTaken(run.progress, items.length, {
      bytes: batch.bytes,
      share: null,
      position,
      unmappedFields: [...mapper.unmapped],
      oddCursors: batch.oddCursors,
    });
    const progress = progressAfter(taken, { ...findings, errors });
    await updateRunProgress(tx, run, progress);
    return progress;
  });
  // A person was erased meanwhile: check the batch again, without that person.
  return noted === 'erased' ? dryRunBatch(deps, job, mapper, batch, before) : noted;
}

/** Sorts records that would be written before the others. */
function shownFirst(sample: SampleRecord[]): SampleRecord[] {
  return sample.toSorted((a, b) => Number(a.outcome === 'unchanged') - Number(b.outcome === 'unchanged'));
}

async function lookAtAttributes(
  deps: Dependencies,
  { sync, run }: SyncJob,
  sorId: number,
  mapper: RecordMapper,
  items: JoinedBatch['items'],
  before: number,
): Promise<Findings> {
  const { records: checked, rules } = await checkBatch(deps, sync, { sorId, mapper }, numbered(items, before));
  const records = await withKeysOfSource(deps.db, sync, await withoutErased(deps, sync, checked));
  const ids = [...new Set(records.flatMap(({ key }) => key ?? []))];
  const people = ids.map((customerId) => ({ customerType: customerTypeOf(sync), customerId }));
  const stored = await storedValues(deps, sync.entityId, sorId, rules, people);
  // The outcome of a record is that of its values; a deletion's is that of what the sync knows.
  const deletions = records.filter(({ deletes }) => deletes !== undefined);
  const known = await findKnownRecords(deps.db, sync.entityId, sync.id, keysOf(deletions));
  const outcomes = decideOutcomes(records, known, run);
  const looked = records.map((record, index) =>
    record.deletes ? lookAtDeletion(record, outcomes[index]!) : lookAt(record, rules, stored),
  );
  return {
    records,
    people: looked.map(({ customer_id: customerId }) => customerId),
    outcomes: looked.map(({ outcome }) => outcome),
    sample: looked.slice(0, MAX_SHOWN * 10),
  };
}

/** Makes records of erased people errors, as the merge does. */
async function withoutErased(
  deps: Dependencies,
  sync: SyncJob['sync'],
  records: CheckedRecord[],
): Promise<CheckedRecord[]> {
  const erased = await erasedAmong(deps.db, deps, sync, () => records.map(({ key }) => key));
  return records.map((record) => {
    const hash = erased(record.key);
    return hash ? { ...record, key: null, rows: [], checksum: null, error: erasedError(record.ordinal, hash) } : record;
  });
}

/** Stored values by customer and attribute id, without removed ones. */
type StoredValues = Map<string, Map<number, string | string[]>>;

async function storedValues(
  { db }: Dependencies,
  entityId: number,
  sorId: number,
  { attributes }: SorRules,
  people: Person[],
): Promise<StoredValues> {
  const selection = [...attributes.values()].map(({ id, valueType }) => ({ id, sorId, valueType }));
  const stored: StoredValues = new Map();
  for await (const { customer, values } of streamProfileValues(db, entityId, people, selection)) {
    const there = values.filter(({ isRemoved }) => !isRemoved);
    stored.set(
      customer.customerId,
      new Map(there.map(({ attributeId, value, elements }) => [attributeId, elements ?? String(value)])),
    );
  }
  return stored;
}

function lookAt(
  { ordinal: line, key, rows, error }: CheckedRecord,
  { attributes }: SorRules,
  stored: StoredValues,
): SampleRecord {
  const keyOf = new Map([...attributes.values()].map((attribute) => [attribute.id, attribute.key]));
  const changes = rows.flatMap((row) => {
    const before = shown(row.valueType, stored.get(key!)?.get(row.attributeId));
    const after = row.kind === 'value' ? row.value : row.elements;
    if (isSame(row.valueType, before, after)) return [];
    const [from, to] = [before, after].map((value) => asNumber(row.valueType, value));
    return [{ key: keyOf.get(row.attributeId)!, before: from, after: to }];
  });
  const outcome = error
    ? error.outcome === 'ignored'
      ? 'ignored'
      : 'failed'
    : changes.length > 0
      ? 'written'
      : 'unchanged';
  return { line, outcome, customer_id: key, changes, ...(error ? { message: error.message } : {}) };
}

function lookAtDeletion({ ordinal: line, deletes }: BatchRecord, outcome: RecordOutcome): SampleRecord {
  return {
    line,
    outcome: outcome as SampleRecord['outcome'],
    customer_id: (deletes !== 'ignored' && deletes?.[0]) || null,
    message: sayDeletion(outcome),
  };
}

type Value = string | boolean | readonly string[] | null;

/** Returns a stored value as a sample shows it. A Datetime is stored as milliseconds, an empty Set as no value. */
function shown(type: ValueType, stored: string | string[] | undefined): Value {
  if (stored === undefined) return type === 'Set' ? [] : null;
  return type === 'Datetime' ? new Date(Number(stored)).toISOString() : stored;
}

function isSame(type: ValueType, before: Value, after: Value): boolean {
  if (Array.isArray(before) && Array.isArray(after)) return isDeepStrictEqual(new Set(before), new Set(after));
  if (type === 'Number' && before !== null && after !== null) return digits(String(before)) === digits(String(after));
  return String(before) === String(after);
}

/** Returns a Number as a JSON number if a double keeps all its digits, otherwise as text. */
function asNumber(type: ValueType, value: Value): Value | number {
  return type === 'Number' && typeof value === 'string' && isKeptByDouble(value) ? Number(value) : value;
}

/** Removes trailing zeros, so that 1.50 equals 1.5. */
function digits(number: string): string {
  return number.includes('.') ? number.replace(/(?<!0)0+$/, '').replace(/\.$/, '') : number;
}

/** Returns a record for the sample; a long one is shortened to text, since every read of the run returns it. */
function shownRecord(record: SourceRecord | null): unknown {
  const text = JSON.stringify(record);
  return text.length > MAX_SHOWN_CHARS ? `${shorten(text, MAX_SHOWN_CHARS)}…` : record;
}

async function lookAtRecords(
  deps: Dependencies,
  { sync, run }: SyncJob,
  key: string[],
  mapper: RecordMapper,
  items: JoinedBatch['items'],
  before: number,
): Promise<Findings> {
  const found = await outgoingOf(deps, sync, { key, mapper }, items, before);
  const outgoing = await withKeysOfSource(deps.db, sync, found);
  const known = await findKnownRecords(deps.db, sync.entityId, sync.id, keysOf(outgoing));
  const outcomes = decideOutcomes(outgoing, known, run);
  const sample = outgoing.map(({ ordinal: line, customerId, record, error, deletes }, index): SampleRecord => ({
    line,
    outcome: outcomes[index] as SampleRecord['outcome'],
    customer_id: customerId,
    record: shownRecord(record),
    ...(error ? { message: error.message } : {}),
    ...(deletes ? { message: sayDeletion(outcomes[index]!) } : {}),
  }));
  return {
    records: outgoing,
    people: outgoing.map(({ customerId }) => customerId),
    outcomes,
    sample: sample.slice(0, MAX_SHOWN * 10),
  };
}
