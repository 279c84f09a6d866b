// Sends the batches of a run to another connection: stores each before it is sent, and its outcomes afterwards.
import type { SourceRecord, WriteOutcome } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { textOf } from '../../domain/attributes/json-value.ts';
import type { RunErrorType } from '../../domain/imports/import-error-type.ts';
import { type ImportError, showJson } from '../../domain/imports/import-error.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import { quote, shorten } from '../../domain/text/text-limits.ts';
import { type Tx, write } from '../../store/core/database.ts';
import {
  type BatchRef,
  deleteBatch,
  findBatch,
  insertBatch,
  type PendingBatch,
  updateBatch,
  updateBatchBegun,
  updateBatchOutcomes,
  updateBatchSent,
} from '../../store/syncs/sync-batches.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { forgetChecksums, type HandledRecord, upsertSending } from '../../store/syncs/sync-records.ts';
import { updateRunProgress } from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress, SyncRun } from '../../store/syncs/sync-run-record.ts';
import { lockRun, lockRunsWithAbandonedBatches } from '../../store/syncs/sync-runs.ts';
import { findSyncById, lockSyncById, updateSyncCursor } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { cursorBehind, cursorToNote } from './cursor.ts';
import { isAnyErased } from './erased.ts';
import {
  answeredOf,
  type Decided,
  type Delivery,
  deliveryOf,
  jsonOf,
  sendingOf,
  withoutErasedSince,
  withPosition,
} from './delivery.ts';
import type { JoinedBatch } from './items.ts';
import type { RunScope, SyncJob } from './job.ts';
import type { OpenConnection } from './open-connection.ts';
import { countRecords, progressAfter, progressTaken, recordOutcomes } from './outcomes.ts';
import { forgetErased, type Outgoing } from './outgoing.ts';

export type StreamTarget = { stream: string; key: string[]; open: OpenConnection; scope: RunScope };

/** A stored batch; `stored`: the notes of its records that are stored with it, by key. */
export type StoredBatch = BatchRef & {
  identifier: string;
  delivery: Delivery;
  stored?: ReadonlyMap<string, HandledRecord>;
};

/**
 * Stores a batch, so that after a crash it is sent again, under the same name. `sent`: 0 if an earlier batch is still
 * to be sent. Returns null if another attempt has advanced the run, `erased` if a person has been erased since it was
 * mapped.
 */
export async function storeBatch(
  deps: Dependencies,
  { key, run: { identifier: name, id: runId }, sync }: SyncJob,
  { batch, items, before }: { batch: JoinedBatch; items: readonly Outgoing[]; before: number },
  { delivery, stored, sending, known }: Decided,
  sent: 0 | null,
): Promise<StoredBatch | 'erased' | null> {
  const ref = { entityId: sync.entityId, runId, recordsBefore: before };
  const identifier = `${name}-${before}`;
  return write(deps.db, async (tx) => {
    const run = await lockRun(tx, key);
    if (!run) return null;
    // An erasure waits for earlier transactions, not for batches in memory, so the check stands in the transaction.
    const people = items.map(({ customerId }) => customerId);
    if (await isAnyErased(tx, deps, sync, people)) return 'erased';
    const position = await cursorToNote(tx, deps, sync, {
      before: run.progress.position,
      behind: cursorBehind(batch),
    });
    // A batch that is stored ahead would lead the cursor back before the one that is being sent.
    if (sent === 0 && position !== cursorBehind(batch)) return null;
    const row = { identifier, batch: withPosition(stored, position), records: items.length, sent };
    if (!(await insertBatch(tx, ref, row))) return null;
    await upsertSending(tx, run, sending, { known, isSeen: sync.removes });
    deps.boundary('sync: before a batch is written down');
    return { ...ref, identifier, delivery: { ...delivery, position }, stored: sending };
  });
}

/**
 * Records that a stored batch is sent from now on: if the process dies, any record may have been sent. Returns how many
 * may have been before. Takes out people who were erased while it waited, unless it may have been sent already. Returns
 * null if another attempt has the run.
 */
export function beginBatch(
  deps: Dependencies,
  { key, sync }: SyncJob,
  batch: StoredBatch,
): Promise<{ batch: StoredBatch; sent: number | null } | null> {
  return write(deps.db, async (tx) => {
    const sent = await updateBatchBegun(tx, batch, key.generation);
    if (sent === undefined) return null;
    if (sent !== 0) return { batch, sent };
    const delivery = await withoutErasedSince(tx, deps, sync, batch.delivery);
    if (delivery === batch.delivery) return { batch, sent };
    const { position, ...others } = delivery;
    await updateBatch(tx, batch, withPosition(await jsonOf(others), position));
    return { batch: { ...batch, delivery }, sent };
  });
}

/** Sends the batches that an earlier attempt stored, if there are any. */
export async function deliverPending(deps: Dependencies, job: SyncJob, target: StreamTarget): Promise<void> {
  const { entityId } = job.sync;
  const { id: runId } = job.run;
  for (;;) {
    const pending = await findBatch(deps.db, entityId, runId);
    if (!pending) return;
    const { identifier, recordsBefore } = pending;
    const begun = await beginBatch(deps, job, {
      entityId,
      runId,
      recordsBefore,
      identifier,
      delivery: deliveryOf(pending),
    });
    if (!begun) throw new JobGone();
    const { batch, sent } = begun;
    const outcomes = await sendBatch(deps, job, target, batch, { answered: answeredOf(pending.outcomes), sent });
    if (!(await noteBatch(deps, job, batch, outcomes))) throw new JobGone();
  }
}

/** How often answers are recorded, also before an error is thrown, so that no record is sent again. */
const NOTE_EVERY_MS = 1_000;

type Earlier = {
  /** Outcomes that earlier tries got, and how many records they may have sent. */
  answered: WriteOutcome[];
  sent: number | null;
  /** Settles when the batch before is recorded: answers of this one are recorded after it. */
  noted?: Promise<unknown>;
};

const NEVER_SENT: Earlier = { answered: [], sent: 0 };

/** Sends a stored batch, and returns the outcomes of its records. */
export async function sendBatch(
  deps: Dependencies,
  job: SyncJob,
  { stream, key, open, scope }: StreamTarget,
  batch: StoredBatch,
  { answered, sent, noted }: Earlier = NEVER_SENT,
): Promise<WriteOutcome[]> {
  const { connector, settings, secretSettings } = open;
  const { records } = batch.delivery;
  const outcomes = [...answered];
  // A connector that does not report what leaves may have sent anything.
  let left: number | null = null;
  const sending = (count: number) => {
    left = Math.max(left ?? 0, count);
  };
  const { length: done } = outcomes;
  const writing = { stream, key, batchId: batch.identifier, records, answered: done, isRemoval: false, sending };
  let notedAt = performance.now();
  try {
    for await (const some of records.length === done
      ? []
      : connector.destination!.write(settings, writing, scope.context)) {
      outcomes.push(...some.map((outcome) => withoutSecret(outcome, secretSettings)));
      if (performance.now() - notedAt < NOTE_EVERY_MS || outcomes.length === records.length) continue;
      await noted;
      await noteAnswered(deps, job, batch, outcomes);
      notedAt = performance.now();
    }
  } catch (error) {
    const mayHaveLeft = sent === null || left === null ? null : Math.max(sent, left, outcomes.length);
    await noted;
    await noteAnswered(deps, job, batch, outcomes, { before: done, sent: mayHaveLeft });
    throw error;
  }
  deps.boundary('sync: batch sent');
  return outcomes;
}

function withoutSecret(outcome: WriteOutcome, secretSettings: OpenConnection['secretSettings']): WriteOutcome {
  return outcome.kind === 'failed'
    ? { ...outcome, message: shorten(redacted(outcome.message, secretSettings)) }
    : outcome;
}

/** States in which the outcomes of a run's batch still count: it may have been canceled meanwhile. */
const HOLD_A_BATCH = ['running', 'canceled'];

/** Stores the answers so far. `ended`: a failed try, with the records answered before it and possibly sent in it. */
async function noteAnswered(
  deps: Dependencies,
  { key }: SyncJob,
  batch: StoredBatch,
  outcomes: WriteOutcome[],
  ended?: { before: number; sent: number | null },
): Promise<void> {
  const { records, share = null } = batch.delivery;
  await write(deps.db, async (tx) => {
    const run = await lockRun(tx, key, HOLD_A_BATCH);
    if (!run) throw new JobGone();
    const { length: answered } = outcomes;
    if (ended) await updateBatchSent(tx, batch, ended.sent);
    if (ended?.before === answered) return;
    const before = run.progress.share ?? 0;
    const ofTheRest = (answered - run.answered) / (records.length - run.answered);
    const shareNow = share === null ? null : before + (share - before) * ofTheRest;
    await updateBatchOutcomes(tx, batch, {
      outcomes: JSON.stringify(outcomes),
      answered,
      share: shareNow,
    });
  });
  deps.boundary('sync: answers noted');
}

/**
 * Records the batch's outcomes, counts and cursor in one transaction that locks the run. Returns null if another
 * attempt has done so.
 */
export async function noteBatch(
  deps: Dependencies,
  { key, sync }: SyncJob,
  batch: StoredBatch,
  outcomes: WriteOutcome[],
): Promise<RunProgress | null> {
  const { delivery, stored } = batch;
  const told = withOutcomes(delivery, outcomes);
  const noted = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, key, HOLD_A_BATCH);
    if (!run || !(await deleteBatch(tx, batch))) return null;
    return {
      before: run.progress,
      after: await noteDelivery(tx, deps, { sync, run }, { ...delivery, stored, ...told }),
    };
  });
  if (noted) countRecords(deps, noted.before, noted.after);
  deps.boundary('sync: after a batch committed');
  return noted && noted.after;
}

type Noted = Omit<Delivery, 'records'> & { stored?: StoredBatch['stored'] };

const UNKNOWN = 'the run was canceled while it was on its way: whether it arrived is unknown';
const NOT_SENT = 'the run was canceled before it was sent';

type RunOfSync = { sync: Sync; run: SyncRun };
type Noting = Pick<Dependencies, 'secrets' | 'boundary'>;

/**
 * Counts the stored batches of a canceled run: records that may have left without an answer get an error of unknown
 * outcome. If there are none, the next run reads the unsent ones again. `tx` locks sync and run.
 */
async function noteUnknown(tx: Tx, deps: Noting, ended: RunOfSync): Promise<void> {
  await noteEach(tx, ended, (run, delivery, { outcomes, sent }) => {
    const answered = answeredOf(outcomes);
    const mayHaveLeft = sent ?? delivery.records.length;
    if (mayHaveLeft <= answered.length) return noteAnsweredPart(tx, deps, run, delivery, answered);
    const all = delivery.records.map(
      (_, index): WriteOutcome =>
        answered[index] ?? { kind: 'failed', message: index < mayHaveLeft ? UNKNOWN : NOT_SENT, later: true },
    );
    const errorTypeOf = (index: number) =>
      index < answered.length || index >= mayHaveLeft ? 'DELIVERY_FAILED' : 'DELIVERY_UNKNOWN';
    return noteDelivery(tx, deps, run, { ...delivery, ...withOutcomes(delivery, all, errorTypeOf) });
  });
}

/** Counts the answered records of a failing run's stored batches; the next run reads the others again. */
export function noteAnsweredOfFailed(tx: Tx, deps: Noting, ended: RunOfSync): Promise<void> {
  return noteEach(tx, ended, (run, delivery, { outcomes }) =>
    noteAnsweredPart(tx, deps, run, delivery, answeredOf(outcomes)),
  );
}

type NoteOne = (run: RunOfSync, delivery: Delivery, pending: PendingBatch) => Promise<RunProgress | null>;

/**
 * Notes the stored batches of a run that goes no further, in order, and deletes them. `noteOne` returns null for one
 * that is not noted whole: those after it were never sent, and are only forgotten.
 */
async function noteEach(tx: Tx, { sync, run: ended }: RunOfSync, noteOne: NoteOne): Promise<void> {
  const { entityId } = sync;
  let run: SyncRun | null = ended;
  for (;;) {
    const pending = await findBatch(tx, entityId, ended.id, { lock: true });
    if (!pending) return;
    await deleteBatch(tx, { entityId, runId: ended.id, recordsBefore: pending.recordsBefore });
    // A sync that has written nothing may have changed its destination; the keys then mean nothing.
    if ('sorId' in sync.destination) continue;
    const delivery = deliveryOf(pending);
    if (run === null) await forgetUnanswered(tx, sync, delivery, 0);
    else {
      const after = await noteOne({ sync, run }, delivery, pending);
      run = after && { ...run, progress: after, answered: 0 };
    }
  }
}

async function noteAnsweredPart(
  tx: Tx,
  deps: Noting,
  { sync, run }: RunOfSync,
  delivery: Delivery,
  answered: WriteOutcome[],
): Promise<RunProgress | null> {
  const { length: count } = answered;
  if (count === delivery.records.length) {
    return noteDelivery(tx, deps, { sync, run }, { ...delivery, ...withOutcomes(delivery, answered) });
  }
  await forgetUnanswered(tx, sync, delivery, count);
  if (count > 0) {
    const part = { ...delivery, ...withOutcomes(answeredPart(delivery, count), answered) };
    await noteDelivery(tx, deps, { sync, run }, part, true);
  }
  return null;
}

async function forgetUnanswered(tx: Tx, sync: Sync, { items }: Delivery, answered: number): Promise<void> {
  const unanswered = items.filter(({ sent }) => sent !== null && sent >= answered);
  await forgetChecksums(tx, sync.entityId, sync.id, [...sendingOf({ items: unanswered }).keys()]);
}

/** Returns the answered records, and records that are not sent if they precede the first unanswered one. */
function answeredPart(
  { items, outcomes, records }: Delivery,
  answered: number,
): Pick<Delivery, 'items' | 'outcomes' | 'records'> {
  const firstLeft = items.findIndex(({ sent }) => sent !== null && sent >= answered);
  const isCounted = ({ sent }: Outgoing, index: number) => (sent === null ? index < firstLeft : sent < answered);
  return {
    records,
    items: items.filter(isCounted),
    outcomes: outcomes.filter((_, index) => isCounted(items[index]!, index)),
  };
}

/**
 * Records a batch's outcomes and progress. `isPart`: only a part was answered, so the cursor stays before the batch.
 */
async function noteDelivery(
  tx: Tx,
  deps: Noting,
  { sync, run }: RunOfSync,
  { items, outcomes, bytes, share = null, position: behind, oddCursors = 0, stored }: Noted,
  isPart = false,
): Promise<RunProgress> {
  const records = await forgetErased(tx, deps, sync, items);
  const errors = await recordOutcomes(tx, deps, { sync, run }, { records, outcomes, known: null, stored });
  const before = run.progress.position;
  const position = isPart ? before : await cursorToNote(tx, deps, sync, { before, behind });
  const shareTaken = isPart ? run.progress.share : share;
  const taken = progressTaken(run.progress, records.length, {
    bytes,
    share: shareTaken,
    position,
    unmappedFields: run.progress.unmappedFields,
    oddCursors: isPart ? 0 : oddCursors,
  });
  const after = progressAfter(taken, { records, outcomes, errors });
  await updateRunProgress(tx, run, after);
  if (isPart) return after;
  // After a cancellation users may have changed the stream or the cursor field: then the sync's cursor stays.
  const movesCursor =
    run.state === 'running' || (await findSyncById(tx, sync.entityId, sync.id))?.cursor === run.progress.position;
  if (movesCursor && sync.mode === 'incremental' && run.rootId === null) await updateSyncCursor(tx, sync, position);
  deps.boundary('sync: before a batch commits');
  return after;
}

function withOutcomes(
  { items, outcomes, records }: Pick<Delivery, 'items' | 'outcomes' | 'records'>,
  answers: WriteOutcome[],
  errorTypeOf: (sent: number) => DeliveryErrorType = () => 'DELIVERY_FAILED',
): Pick<Delivery, 'items' | 'outcomes'> {
  const answerTo = ({ sent }: Outgoing) => (sent === null ? null : answers[sent]!);
  return {
    items: items.map((item) => {
      const answer = answerTo(item);
      if (answer?.kind !== 'failed') return item;
      const error = deliveryError(item, errorTypeOf(item.sent!), answer, records[item.sent!]!);
      return { ...item, checksum: null, error };
    }),
    outcomes: outcomes.map((outcome, index) => {
      const answer = answerTo(items[index]!);
      if (answer === null) return outcome;
      if (answer.kind === 'failed') return 'failed';
      return outcome === 'unchanged' || answer.kind === 'unchanged' ? 'unchanged' : 'written';
    }),
  };
}

type DeliveryErrorType = Extract<RunErrorType, 'DELIVERY_FAILED' | 'DELIVERY_UNKNOWN'>;
type Failed = Extract<WriteOutcome, { kind: 'failed' }>;

/** Returns the error of a failed record. If the destination names a field, it quotes the value that was sent. */
function deliveryError(
  { ordinal, rootLine, customerId, source }: Outgoing,
  errorType: DeliveryErrorType,
  { message, field }: Failed,
  sent: SourceRecord,
): ImportError {
  const quoted = field === undefined ? '' : `${quote(textOf(sent[field]) ?? showJson(sent[field]))} `;
  return {
    line: ordinal,
    errorType,
    outcome: 'failed',
    stage: 'merge',
    message: quoted + message,
    customerId,
    attributeKey: field ?? null,
    raw: showJson(source),
    originalLine: rootLine,
    customerHash: null,
  };
}

/**
 * Counts the stored batches of canceled runs, and deletes them. Call it before the sync's next run begins, which would
 * send their records again. `tx` locks the sync.
 */
export async function settleAbandonedBatches(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets' | 'boundary'>,
  sync: Sync,
): Promise<void> {
  for (const run of await lockRunsWithAbandonedBatches(tx, sync.entityId, sync.id))
    await noteUnknown(tx, deps, { sync, run });
}

/** Counts and deletes the stored batches of a sync's canceled runs in a transaction of its own. */
export async function settleRunsOf(
  deps: Pick<Dependencies, 'db' | 'secrets' | 'boundary'>,
  entityId: number,
  syncId: number,
): Promise<void> {
  await write(deps.db, async (tx) => {
    const sync = await lockSyncById(tx, entityId, syncId);
    if (sync) await settleAbandonedBatches(tx, deps, sync);
  });
}
