// Decides what becomes of each record of a batch (written, unchanged, ignored, failed), counts it and records it.
import { type ImportError, isOfErased } from '../../domain/imports/import-error.ts';
import type { Tx } from '../../store/core/database.ts';
import { insertImportErrors, updateErrorsRedriven } from '../../store/imports/import-errors.ts';
import { sumErrors } from '../../store/imports/import-lanes.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import {
  type HandledRecord,
  type KnownRecord,
  type SeenRecord,
  upsertRecords,
} from '../../store/syncs/sync-records.ts';
import type { RecordCounts, RunProgress, SyncRun } from '../../store/syncs/sync-run-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { redactErased } from '../gdpr/redact-erased.ts';
import { customerTypeOf } from './erased.ts';

/** A record of a batch, whatever its destination. */
export type BatchRecord = {
  /** Number of the record in the run, from 1. */
  ordinal: number;
  /** In a re-drive, the line of the first run that failed. */
  rootLine: number | null;
  /** True if that run knew the record's key and stored it. */
  wasNamed?: boolean | undefined;
  /** Identifies the record within the sync; null if it has no valid key. */
  key: string | null;
  /** The source's own key, which may come back in a deletion; null if the source or the sync knows no deletions. */
  sourceKey: string | null;
  /** Checksum of its content, in hexadecimal; null if part of it can't be written. */
  checksum: string | null;
  error: ImportError | null;
  /** True if its customer id is probably a mistake. */
  isSuspicious?: boolean;
  /** If it failed without a key: the keys of known records that came with its source key; missing if it has none. */
  knownAs?: readonly string[];
  /** Not a record, but the deletion of those with these keys; `ignored`: the sync removes nothing. */
  deletes?: readonly string[] | 'ignored';
};

/** Returns the keys that these records and deletions are about. */
export function keysOf(records: readonly Pick<BatchRecord, 'key' | 'deletes' | 'knownAs'>[]): string[] {
  return records.flatMap(({ key, knownAs = [], deletes = knownAs }) => key ?? (deletes === 'ignored' ? [] : deletes));
}

/** `superseded`: a later run has already read a newer state of the re-driven record. */
export type RecordOutcome = keyof Omit<RecordCounts, 'read'> | 'superseded';

/**
 * Decides the outcome of each record, in order, by the stored checksum of its key. A second record with the same key is
 * compared with the first. A deletion counts as written if one of its records is known.
 */
export function decideOutcomes(
  records: readonly BatchRecord[],
  known: ReadonlyMap<string, KnownRecord>,
  { id, fresh, rootId }: SyncRun,
): RecordOutcome[] {
  const last = new Map<string, string | null>();
  const deleted = new Set<string>();
  const back = new Set<string>();
  const isThere = (key: string) =>
    !deleted.has(key) && (last.has(key) || (back.has(key) && known.has(key)) || known.get(key)?.isDeleted === false);
  return records.map(({ key, checksum, error, deletes, knownAs = [], wasNamed = false }) => {
    if (deletes === 'ignored') return 'ignored';
    if (deletes) {
      const there = deletes.filter(isThere);
      for (const each of there) deleted.add(each);
      return there.length > 0 ? 'written' : 'unchanged';
    }
    if (key !== null) deleted.delete(key);
    const before = key === null ? undefined : known.get(key);
    if (rootId !== null && key !== null && isOutdated(before, { id, rootId, wasNamed })) return 'superseded';
    if (error) {
      if (key !== null) last.set(key, null);
      for (const each of knownAs) {
        deleted.delete(each);
        back.add(each);
      }
      return error.outcome === 'ignored' ? 'ignored' : 'failed';
    }
    if (key === null) return 'written';
    const counts = before !== undefined && (!fresh || before.runId >= id);
    const current = last.has(key) ? last.get(key) : counts ? before.checksum : null;
    last.set(key, checksum);
    return checksum !== null && current === checksum ? 'unchanged' : 'written';
  });
}

/** Returns whether a record that failed in run `rootId` is outdated: it has come again since, or was removed. */
function isOutdated(
  before: KnownRecord | undefined,
  { id, rootId, wasNamed }: { id: number; rootId: number; wasNamed: boolean },
): boolean {
  if (before === undefined) return wasNamed;
  return before.runId !== id && (before.runId > rootId || (before.runId === rootId && before.checksum !== null));
}

/** Changes of known records; `shared`: keys with which records of several source keys came. */
type Notes = { handled: HandledRecord[]; seen: SeenRecord[]; deleted: string[]; shared: string[] };

/**
 * Returns what to store about each key (its last record counts), which records were seen (unchanged, or failed without
 * a key), and which were deleted. Leaves out records that failed in a re-drive: they would pass for the latest state.
 */
export function notesOf(
  records: readonly (BatchRecord & { customerId?: string | null })[],
  outcomes: readonly RecordOutcome[],
  { rootId }: Pick<SyncRun, 'rootId'>,
): Notes {
  const handled = new Map<string, HandledRecord>();
  const seen = new Map<string, SeenRecord>();
  const deleted = new Set<string>();
  const sources = new Map<string, Set<string>>();
  for (const [
    index,
    { key, sourceKey, checksum, deletes = [], knownAs = [], customerId = null },
  ] of records.entries()) {
    const outcome = outcomes[index]!;
    for (const each of deletes === 'ignored' ? [] : deletes) deleted.add(each);
    for (const each of rootId === null ? knownAs : []) {
      deleted.delete(each);
      if (!seen.has(each)) seen.set(each, { key: each, sourceKey: null });
    }
    if (key === null || outcome === 'superseded') continue;
    deleted.delete(key);
    if (sourceKey !== null) sources.set(key, (sources.get(key) ?? new Set()).add(sourceKey));
    if (outcome === 'unchanged') seen.set(key, { key, sourceKey });
    else if (outcome === 'written') handled.set(key, { key, customerId, checksum, sourceKey });
    else if (rootId === null) handled.set(key, { key, customerId, checksum: null, sourceKey });
  }
  // If a record was written and then came again unchanged, the first entry holds.
  return {
    handled: [...handled.values()],
    seen: [...seen.values()].filter(({ key }) => !handled.has(key)),
    deleted: [...deleted],
    shared: [...sources].flatMap(([key, { size }]) => (size > 1 ? key : [])),
  };
}

/** Progress that a batch adds to its run: bytes, share of the source read, cursor, and unmapped field names so far. */
export type Taken = {
  bytes: number;
  share: number | null;
  position: string | null;
  unmappedFields: string[];
  oddCursors: number;
};

/** Returns a run's progress once a batch of this number of records is taken; the outcomes are counted later. */
export function progressTaken(before: RunProgress, records: number, taken: Taken): RunProgress {
  return {
    ...before,
    ...taken,
    bytes: before.bytes + taken.bytes,
    oddCursors: before.oddCursors + taken.oddCursors,
    batchesTaken: before.batchesTaken + 1,
    recordsTaken: before.recordsTaken + records,
  };
}

type Came = { outcomes: readonly RecordOutcome[]; records: readonly BatchRecord[]; errors: readonly ImportError[] };

/** Returns the share of the run that is read. `done` is the share of the current reading, which began at `begun`. */
export function shareOf(begun: RunProgress, done: number | null): number | null {
  if (done === null) return null;
  const before = begun.position === null ? 0 : (begun.share ?? 0);
  return before + (1 - before) * done;
}

/** Returns a run's progress with the outcomes of these records counted. */
export function progressAfter(before: RunProgress, { outcomes, records, errors }: Came): RunProgress {
  const count = (...of: RecordOutcome[]) => outcomes.filter((outcome) => of.includes(outcome)).length;
  const deletionsIgnored = records.filter(({ deletes }) => deletes === 'ignored').length;
  const types = errors.map(({ errorType }) => ({ [errorType]: 1 }));
  const keyless = records.filter(({ key, error }) => key === null && error !== null && !isOfErased(error));
  return {
    ...before,
    read: before.read + outcomes.length,
    written: before.written + count('written'),
    unchanged: before.unchanged + count('unchanged', 'superseded'),
    ignored: before.ignored + count('ignored'),
    deletionsIgnored: before.deletionsIgnored + deletionsIgnored,
    failed: before.failed + count('failed'),
    unnamed: before.unnamed + keyless.filter(({ knownAs }) => knownAs === undefined).length,
    unidentified: before.unidentified + keyless.filter(({ knownAs }) => knownAs?.length === 0).length,
    suspiciousIds:
      before.suspiciousIds + records.filter(({ isSuspicious, error }) => isSuspicious && error === null).length,
    errorsByType: sumErrors([before.errorsByType, ...types]),
  };
}

/** Returns the errors to store: all but those of superseded records. */
function errorsOf(records: readonly BatchRecord[], outcomes: readonly RecordOutcome[]): ImportError[] {
  return records.flatMap(({ error }, index) => (error && outcomes[index] !== 'superseded' ? [error] : []));
}

/** Adds the outcomes of a batch to the metrics. */
export function countRecords(
  { countRecords: count }: Pick<Dependencies, 'countRecords'>,
  before: RunProgress,
  after: RunProgress,
): void {
  for (const outcome of ['written', 'unchanged', 'ignored', 'failed'] as const)
    count(outcome, after[outcome] - before[outcome]);
}

/** Returns the lines of the first run whose errors the re-drive has settled. */
function settledLines(records: readonly BatchRecord[], outcomes: readonly RecordOutcome[]): number[] {
  const isOpen = (outcome: RecordOutcome) => outcome === 'failed' || outcome === 'ignored';
  return records.flatMap(({ rootLine }, index) => (rootLine === null || isOpen(outcomes[index]!) ? [] : [rootLine]));
}

/** Outcomes of records, whatever their destination. */
type RecordedOutcomes = {
  records: readonly (BatchRecord & { customerId?: string | null })[];
  outcomes: readonly RecordOutcome[];
  /** Keys that are stored already; null if they were not looked up. */
  known: { has(key: string): boolean } | null;
  /** Notes of records that were stored before they were sent, by key. */
  stored?: ReadonlyMap<string, HandledRecord> | undefined;
};

/**
 * Stores errors and checksums of records, and marks settled errors of a re-drive. Counts and cursor follow in the same
 * transaction. Returns the errors as they are stored.
 */
export async function recordOutcomes(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets'>,
  { sync, run }: { sync: Sync; run: Pick<SyncRun, 'id' | 'rootId'> },
  { records, outcomes, known, stored }: RecordedOutcomes,
): Promise<ImportError[]> {
  const { entityId, id: syncId } = sync;
  const errors = await redactErased(tx, deps, entityId, errorsOf(records, outcomes), () => customerTypeOf(sync));
  await insertImportErrors(tx, entityId, run.id, errors);
  const { handled, ...others } = notesOf(records, outcomes, run);
  const isStored = ({ key, checksum }: HandledRecord) => checksum !== null && stored?.get(key)?.checksum === checksum;
  const left = handled.filter((record) => run.rootId !== null || !isStored(record));
  await upsertRecords(tx, entityId, { syncId, runId: run.id, isSeen: sync.removes }, left, { known, ...others });
  if (run.rootId !== null) {
    const settled = settledLines(records, outcomes).map((line) => ({ line, column: 0 }));
    await updateErrorsRedriven(tx, entityId, run.rootId, settled, run.id);
  }
  return errors;
}
