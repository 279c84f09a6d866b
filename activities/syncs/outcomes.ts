import { type ImportError, isOfErased } from '../../domain/imports/import-error.ts';
import type { Tx } from '../../store/core/database.ts';
import { insertImportErrors, updateErrorsRedriven } from '../../store/imports/import-errors.ts';
import { sumErrors } from '../../store/imports/import-lanes.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import {
  type HandledRecord,
  type KnownRecord,
  updateRecordsSeen,
  upsertRecords,
} from '../../store/syncs/sync-records.ts';
import type { RecordCounts, RunProgress, SyncRun } from '../../store/syncs/sync-run-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { redactErased } from '../gdpr/redact-erased.ts';
import { customerTypeOf } from './erased.ts';

/** A record of a batch, whatever its destination. */
export type BatchRecord = {
  /** In the run, from 1. */
  ordinal: number;
  /** The line of the first run that a re-drive brings again. */
  rootLine: number | null;
  /** Whether that run could tell which record it was, and noted it down. */
  wasNamed?: boolean | undefined;
  /** Names it to the sync; null if it is unknown which record it is. */
  key: string | null;
  /** Checksum of its content; null if part of it can't be written. */
  checksum: Buffer | null;
  error: ImportError | null;
  /** Its customer id hardly is one. */
  isSuspicious?: boolean;
};

/** `superseded`: a run since has brought a later state of a record that is re-driven. */
export type RecordOutcome = keyof Omit<RecordCounts, 'read'> | 'superseded';

/**
 * Decides the outcome of each record in order, by what is known of its key. The second of two records with one key
 * meets what the first leaves, in whichever batch they come.
 */
export function decideOutcomes(
  records: readonly BatchRecord[],
  known: ReadonlyMap<string, KnownRecord>,
  { id, fresh, rootId }: SyncRun,
): RecordOutcome[] {
  const last = new Map<string, Buffer | null>();
  return records.map(({ key, checksum, error, wasNamed = false }) => {
    const before = key === null ? undefined : known.get(key);
    if (rootId !== null && key !== null && isOutdated(before, { id, rootId, wasNamed })) return 'superseded';
    if (error) {
      if (key !== null) last.set(key, null);
      return error.outcome === 'ignored' ? 'ignored' : 'failed';
    }
    if (key === null) return 'written';
    const counts = before !== undefined && (!fresh || before.runId >= id);
    const current = last.has(key) ? last.get(key) : counts ? before.checksum : null;
    last.set(key, checksum);
    return checksum !== null && current?.equals(checksum) ? 'unchanged' : 'written';
  });
}

/**
 * Whether a record that failed in the run `rootId` is an old state: another run has brought one since, or that run
 * itself after it; or it was known and is not any more, since it was removed.
 */
function isOutdated(
  before: KnownRecord | undefined,
  { id, rootId, wasNamed }: { id: number; rootId: number; wasNamed: boolean },
): boolean {
  if (before === undefined) return wasNamed;
  return before.runId !== id && (before.runId > rootId || (before.runId === rootId && before.checksum !== null));
}

/**
 * Returns what to store about each key, by the last record that has it, and which unchanged records were seen. An old
 * record that a re-drive could not bring is left out: it would pass for a later state than the known one.
 */
export function notesOf(
  records: readonly (BatchRecord & { customerId?: string | null })[],
  outcomes: readonly RecordOutcome[],
  { rootId }: Pick<SyncRun, 'rootId'>,
): { handled: HandledRecord[]; seen: string[] } {
  const handled = new Map<string, HandledRecord>();
  const seen = new Set<string>();
  for (const [index, { key, checksum, customerId = null }] of records.entries()) {
    const outcome = outcomes[index]!;
    if (key === null || outcome === 'superseded') continue;
    if (outcome === 'unchanged') seen.add(key);
    else if (outcome === 'written') handled.set(key, { key, customerId, checksum });
    else if (rootId === null) handled.set(key, { key, customerId, checksum: null });
  }
  // If a record was written and then came again unchanged, the first entry holds.
  return { handled: [...handled.values()], seen: [...seen].filter((key) => !handled.has(key)) };
}

/**
 * A batch as its run counts it: bytes of the source, how much of it is taken then, its cursor behind it, and names of
 * fields that went nowhere so far.
 */
export type Taken = {
  bytes: number;
  share: number | null;
  position: string | null;
  unmappedFields: string[];
  oddCursors: number;
};

/** Returns how far a run is once it has taken over a batch of these records, to be merged. */
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

/**
 * How much of what a run reads is taken: `done` is of the reading that began with `begun`, where one before it had come
 * so far.
 */
export function shareOf(begun: RunProgress, done: number | null): number | null {
  if (done === null) return null;
  const before = begun.position === null ? 0 : (begun.share ?? 0);
  return before + (1 - before) * done;
}

/** The counts of a run after some records of a batch that it has taken over. */
export function progressAfter(before: RunProgress, { outcomes, records, errors }: Came): RunProgress {
  const count = (...of: RecordOutcome[]) => outcomes.filter((outcome) => of.includes(outcome)).length;
  const types = errors.map(({ errorType }) => ({ [errorType]: 1 }));
  return {
    ...before,
    read: before.read + outcomes.length,
    written: before.written + count('written'),
    unchanged: before.unchanged + count('unchanged', 'superseded'),
    ignored: before.ignored + count('ignored'),
    failed: before.failed + count('failed'),
    unnamed:
      before.unnamed + records.filter(({ key, error }) => key === null && error !== null && !isOfErased(error)).length,
    suspiciousIds:
      before.suspiciousIds + records.filter(({ isSuspicious, error }) => isSuspicious && error === null).length,
    errorsByType: sumErrors([before.errorsByType, ...types]),
  };
}

/** The errors of records that are open for good: not those of an old state. */
function errorsOf(records: readonly BatchRecord[], outcomes: readonly RecordOutcome[]): ImportError[] {
  return records.flatMap(({ error }, index) => (error && outcomes[index] !== 'superseded' ? [error] : []));
}

/** Tells the metrics what became of a batch's records. */
export function countRecords(
  { countRecords: count }: Pick<Dependencies, 'countRecords'>,
  before: RunProgress,
  after: RunProgress,
): void {
  for (const outcome of ['written', 'unchanged', 'ignored', 'failed'] as const)
    count(outcome, after[outcome] - before[outcome]);
}

/** The lines of the first run that a re-drive has settled. */
function settledLines(records: readonly BatchRecord[], outcomes: readonly RecordOutcome[]): number[] {
  const isOpen = (outcome: RecordOutcome) => outcome === 'failed' || outcome === 'ignored';
  return records.flatMap(({ rootLine }, index) => (rootLine === null || isOpen(outcomes[index]!) ? [] : [rootLine]));
}

/** Outcomes of records, whatever their destination. */
type RecordedOutcomes = {
  records: readonly (BatchRecord & { customerId?: string | null })[];
  outcomes: readonly RecordOutcome[];
  /** By their keys, those that had a note before; null if they were not looked up. */
  known: { has(key: string): boolean } | null;
};

/**
 * Notes down what became of records: the errors, what is known of each, and which errors of the first run a re-drive
 * has settled. The counts and the cursor of the source follow in the same transaction. Returns the errors as they are
 * kept.
 */
export async function recordOutcomes(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets'>,
  { sync, run }: { sync: Sync; run: Pick<SyncRun, 'id' | 'rootId'> },
  { records, outcomes, known }: RecordedOutcomes,
): Promise<ImportError[]> {
  const { entityId, id: syncId } = sync;
  const errors = await redactErased(tx, deps, entityId, errorsOf(records, outcomes), () => customerTypeOf(sync));
  await insertImportErrors(tx, entityId, run.id, errors);
  const { handled, seen } = notesOf(records, outcomes, run);
  await upsertRecords(tx, entityId, { syncId, runId: run.id, isSeen: sync.removes }, handled, known);
  if (sync.removes) await updateRecordsSeen(tx, entityId, { syncId, runId: run.id }, seen);
  if (run.rootId !== null) {
    const settled = settledLines(records, outcomes).map((line) => ({ line, column: 0 }));
    await updateErrorsRedriven(tx, entityId, run.rootId, settled, run.id);
  }
  return errors;
}
