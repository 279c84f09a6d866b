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
  deleteBatch,
  findBatch,
  insertBatch,
  type PendingBatch,
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
  decideDelivery,
  type Delivery,
  deliveryOf,
  sendingOf,
  withPosition,
} from './delivery.ts';
import { isNamedBySource } from './deletions.ts';
import type { JoinedBatch } from './items.ts';
import type { RunScope, SyncJob } from './job.ts';
import type { OpenConnection } from './open-connection.ts';
import { countRecords, keysOf, progressAfter, progressTaken, recordOutcomes } from './outcomes.ts';
import { forgetErased, type Outgoing, outgoingOf } from './outgoing.ts';
import type { RecordMapper } from './record-mapper.ts';

export type StreamTarget = { stream: string; key: string[]; open: OpenConnection; scope: RunScope };

/** A batch that is mapped; `decided`: null if that must wait for the batch before. */
export type OutgoingBatch = { batch: JoinedBatch; items: Outgoing[]; decided: Decided | null };

type Target = StreamTarget & { mapper: RecordMapper };

/**
 * Returns a function that prepares batches in order, each while the one before it is sent. Decides what to send only if
 * the outcomes of the batch before can't change that.
 */
export function outgoingBatches(deps: Dependencies, job: SyncJob, target: Target) {
  // Keys of the batch before; null: unknown, as it has deletions, or failed records that the source's keys name.
  let before: ReadonlySet<string> | null = new Set();
  return async (batch: JoinedBatch, read: number): Promise<OutgoingBatch> => {
    const items = await outgoingOf(deps, job.sync, target, batch.items, read);
    const keys = items.some((item) => item.deletes || isNamedBySource(item)) ? null : keysOf(items);
    const isFree = before !== null && keys !== null && !keys.some((key) => before!.has(key));
    before = keys && new Set(keys);
    return { batch, items, decided: isFree ? await decideDelivery(deps.db, job, batch, items) : null };
  };
}

/**
 * Sends a batch to a stream. Stores it first: after a crash it is sent again, under the same name. Returns null if
 * another attempt has advanced the run.
 */
export async function deliverBatch(
  deps: Dependencies,
  job: SyncJob,
  target: Target,
  { batch, items, decided: decidedBefore }: OutgoingBatch,
  before: RunProgress,
): Promise<RunProgress | null> {
  const { entityId } = job.sync;
  const decided = decidedBefore ?? (await decideDelivery(deps.db, job, batch, items));
  const { delivery: taken, stored, sending, known } = decided;
  const identifier = `${job.run.identifier}-${before.read}`;
  const held = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, job.key);
    if (run?.progress.read !== before.read) return null;
    // An erasure waits for earlier transactions, not for batches in memory, so the check stands in the transaction.
    const people = items.map(({ customerId }) => customerId);
    if (await isAnyErased(tx, deps, job.sync, people)) return 'erased';
    const position = await cursorToNote(tx, deps, job.sync, {
      before: run.progress.position,
      behind: cursorBehind(batch),
    });
    // Another attempt, which began while this one read, may have stored the batch before: the run goes on from that.
    if (!(await insertBatch(tx, entityId, run.id, { identifier, batch: withPosition(stored, position) }))) return null;
    await upsertSending(tx, run, sending, { known, isSeen: job.sync.removes });
    deps.boundary('sync: before a batch is written down');
    return { ...taken, position };
  });
  // A person was erased since the batch was mapped: map it again, without that person.
  if (held === 'erased') {
    const again = await outgoingOf(deps, job.sync, target, batch.items, before.recordsTaken);
    return deliverBatch(deps, job, target, { batch, items: again, decided: null }, before);
  }
  deps.boundary('sync: batch written down');
  return held && send(deps, job, target, { identifier, delivery: held, answered: [], sent: 0, stored: sending });
}

/** Sends the batch that an earlier attempt stored, if there is one. */
export async function deliverPending(deps: Dependencies, job: SyncJob, target: StreamTarget): Promise<void> {
  const pending = await findBatch(deps.db, job.sync.entityId, job.run.id);
  if (!pending) return;
  const { identifier, sent } = pending;
  // Null: if the process dies in this try, any record may have been sent.
  if (sent !== null) await write(deps.db, (tx) => updateBatchSent(tx, job.sync.entityId, job.run.id, null));
  await send(deps, job, target, {
    identifier,
    delivery: deliveryOf(pending),
    answered: answeredOf(pending.outcomes),
    sent,
  });
}

/** How often answers are recorded, also before an error is thrown, so that no record is sent again. */
const NOTE_EVERY_MS = 1_000;

/** A batch to send; `answered`: outcomes that earlier tries got; `sent`: how many records they may have sent. */
type Sending = Pick<PendingBatch, 'identifier' | 'sent'> & {
  delivery: Delivery;
  answered: WriteOutcome[];
  /** Notes of the records that this try has stored, by key. */
  stored?: ReadonlyMap<string, HandledRecord>;
};

async function send(
  deps: Dependencies,
  job: SyncJob,
  { stream, key, open, scope }: StreamTarget,
  { identifier, delivery, answered, sent, stored }: Sending,
): Promise<RunProgress | null> {
  const { connector, settings, secretSettings } = open;
  const { records } = delivery;
  const outcomes = [...answered];
  // A connector that does not report what leaves may have sent anything.
  let left: number | null = null;
  const sending = (count: number) => {
    left = Math.max(left ?? 0, count);
  };
  const writing = { stream, key, batchId: identifier, records, answered: outcomes.length, isRemoval: false, sending };
  let notedAt = performance.now();
  try {
    for await (const some of records.length === outcomes.length
      ? []
      : connector.destination!.write(settings, writing, scope.context)) {
      outcomes.push(...some.map((outcome) => withoutSecret(outcome, secretSettings)));
      if (performance.now() - notedAt < NOTE_EVERY_MS || outcomes.length === records.length) continue;
      await noteAnswered(deps, job, delivery, outcomes);
      notedAt = performance.now();
    }
  } catch (error) {
    const mayHaveLeft = sent === null || left === null ? null : Math.max(sent, left, outcomes.length);
    await noteAnswered(deps, job, delivery, outcomes, { before: answered.length, sent: mayHaveLeft });
    throw error;
  }
  deps.boundary('sync: batch sent');
  return note(deps, job, { ...delivery, stored }, outcomes);
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
  { records, share = null }: Delivery,
  outcomes: WriteOutcome[],
  ended?: { before: number; sent: number | null },
): Promise<void> {
  await write(deps.db, async (tx) => {
    const run = await lockRun(tx, key, HOLD_A_BATCH);
    if (!run) throw new JobGone();
    const { length: answered } = outcomes;
    if (ended) await updateBatchSent(tx, run.entityId, run.id, ended.sent);
    if (ended?.before === answered) return;
    const before = run.progress.share ?? 0;
    const ofTheRest = (answered - run.answered) / (records.length - run.answered);
    const shareNow = share === null ? null : before + (share - before) * ofTheRest;
    await updateBatchOutcomes(tx, run.entityId, run.id, {
      outcomes: JSON.stringify(outcomes),
      answered,
      share: shareNow,
    });
  });
  deps.boundary('sync: answers noted');
}

/** Records the batch's outcomes, counts and cursor in one transaction that locks the run. */
async function note(
  deps: Dependencies,
  { key, sync }: SyncJob,
  delivery: Delivery & Pick<Sending, 'stored'>,
  outcomes: WriteOutcome[],
): Promise<RunProgress | null> {
  const told = withOutcomes(delivery, outcomes);
  const noted = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, key, HOLD_A_BATCH);
    if (!run || !(await deleteBatch(tx, sync.entityId, run.id))) return null;
    return { before: run.progress, after: await noteDelivery(tx, deps, { sync, run }, { ...delivery, ...told }) };
  });
  if (noted) countRecords(deps, noted.before, noted.after);
  deps.boundary('sync: after a batch committed');
  return noted && noted.after;
}

type Noted = Omit<Delivery, 'records'> & Pick<Sending, 'stored'>;

const UNKNOWN = 'the run was canceled while it was on its way: whether it arrived is unknown';
const NOT_SENT = 'the run was canceled before it was sent';

type RunOfSync = { sync: Sync; run: SyncRun };
type Noting = Pick<Dependencies, 'secrets' | 'boundary'>;

/**
 * Counts the stored batch of a canceled run: records that may have left without an answer get an error of unknown
 * outcome. If there are none, the next run reads the unsent ones again. `tx` locks sync and run.
 */
async function noteUnknown(tx: Tx, deps: Noting, { sync, run }: RunOfSync): Promise<void> {
  const pending = await findBatch(tx, sync.entityId, run.id);
  if (!pending) return;
  await deleteBatch(tx, sync.entityId, run.id);
  // A sync that has written nothing may have changed its destination; the keys then mean nothing.
  if ('sorId' in sync.destination) return;
  const delivery = deliveryOf(pending);
  const answered = answeredOf(pending.outcomes);
  const sent = pending.sent ?? delivery.records.length;
  if (sent <= answered.length) return noteAnsweredPart(tx, deps, { sync, run }, delivery, answered);
  const outcomes = delivery.records.map(
    (_, index): WriteOutcome =>
      answered[index] ?? { kind: 'failed', message: index < sent ? UNKNOWN : NOT_SENT, later: true },
  );
  const errorTypeOf = (index: number) =>
    index < answered.length || index >= sent ? 'DELIVERY_FAILED' : 'DELIVERY_UNKNOWN';
  await noteDelivery(tx, deps, { sync, run }, { ...delivery, ...withOutcomes(delivery, outcomes, errorTypeOf) });
}

/** Counts the answered records of a failing run's stored batch; the next run reads the others again. */
export async function noteAnsweredOfFailed(tx: Tx, deps: Noting, { sync, run }: RunOfSync): Promise<void> {
  const pending = await findBatch(tx, sync.entityId, run.id);
  if (pending && !('sorId' in sync.destination)) {
    await deleteBatch(tx, sync.entityId, run.id);
    await noteAnsweredPart(tx, deps, { sync, run }, deliveryOf(pending), answeredOf(pending.outcomes));
  }
}

async function noteAnsweredPart(
  tx: Tx,
  deps: Noting,
  { sync, run }: RunOfSync,
  delivery: Delivery,
  answered: WriteOutcome[],
): Promise<void> {
  if (answered.length === delivery.records.length) {
    await noteDelivery(tx, deps, { sync, run }, { ...delivery, ...withOutcomes(delivery, answered) });
    return;
  }
  const unanswered = delivery.items.filter(({ sent }) => sent !== null && sent >= answered.length);
  await forgetChecksums(tx, sync.entityId, sync.id, [...sendingOf({ items: unanswered }).keys()]);
  if (answered.length > 0) {
    await noteDelivery(
      tx,
      deps,
      { sync, run },
      { ...delivery, ...withOutcomes(answeredPart(delivery, answered.length), answered) },
      true,
    );
  }
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
