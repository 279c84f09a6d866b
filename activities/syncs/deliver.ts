// Sends the batches of a run to another connection, and records the outcomes, of abandoned batches, too.
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
import { findKnownRecords, upsertSending } from '../../store/syncs/sync-records.ts';
import { updateRunProgress } from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress, SyncRun } from '../../store/syncs/sync-run-record.ts';
import { lockRun, lockRunOfBatch, lockRunsWithAbandonedBatches } from '../../store/syncs/sync-runs.ts';
import { findSyncById, lockSyncById, updateSyncCursor } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { cursorBehind, cursorToNote } from './cursor.ts';
import { isAnyErased } from './erased.ts';
import type { JoinedBatch } from './items.ts';
import type { RunScope, SyncJob } from './job.ts';
import type { OpenConnection } from './open-connection.ts';
import {
  countRecords,
  decideOutcomes,
  progressAfter,
  progressTaken,
  type RecordOutcome,
  recordOutcomes,
  shareOf,
} from './outcomes.ts';
import { forgetErased, type Outgoing, outgoingOf, sendable } from './outgoing.ts';
import type { RecordMapper } from './record-mapper.ts';

export type StreamTarget = { stream: string; key: string[]; open: OpenConnection; scope: RunScope };

/** A batch on its way: the outcomes of its records, and those that are sent, each key once. */
type Delivery = {
  items: Outgoing[];
  outcomes: RecordOutcome[];
  records: SourceRecord[];
  bytes: number;
  position: string | null;
  /** None in those that earlier versions wrote down. */
  share?: number | null;
  oddCursors?: number;
};

/**
 * Sends a batch to a stream of another connection. Stores it before it is sent, and its outcomes before the next is
 * read: after a crash the same batch is sent again, under the same name. Returns null if another attempt has moved the
 * run on, `stopped` if the sync must not write records with new fields.
 */
export async function deliverBatch(
  deps: Dependencies,
  job: SyncJob,
  target: StreamTarget & { mapper: RecordMapper },
  batch: JoinedBatch,
  before: RunProgress,
): Promise<RunProgress | 'stopped' | null> {
  const { entityId, id: syncId } = job.sync;
  const items = await outgoingOf(deps, job.sync, target, batch.items, before.recordsTaken);
  if (target.mapper.isToStop) return 'stopped';
  const known = await findKnownRecords(
    deps.db,
    entityId,
    syncId,
    items.flatMap(({ key }) => key ?? []),
  );
  const outcomes = decideOutcomes(items, known, job.run);
  const { bytes, oddCursors } = batch;
  const taken = {
    ...slim(sendable(items, outcomes)),
    outcomes,
    bytes,
    oddCursors,
    share: shareOf(job.run.progress, batch.done),
  };
  const identifier = `${job.run.identifier}-${before.read}`;
  const held = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, job.key);
    if (run?.progress.read !== before.read) return null;
    // An erasure waits for transactions that began before it, and for nothing that is held in memory.
    const people = items.map(({ customerId }) => customerId);
    if (await isAnyErased(tx, deps, job.sync, people)) return 'erased';
    const position = await cursorToNote(tx, deps, job.sync, {
      before: run.progress.position,
      behind: cursorBehind(batch),
    });
    const delivery: Delivery = { ...taken, position };
    await insertBatch(tx, entityId, run.id, { identifier, batch: JSON.stringify(delivery) });
    await upsertSending(tx, entityId, { syncId, runId: run.rootId ?? run.id }, sendingOf(delivery));
    return delivery;
  });
  // Somebody was erased since the batch was mapped: it is mapped again, without them.
  if (held === 'erased') return deliverBatch(deps, job, target, batch, before);
  deps.boundary('sync: batch written down');
  return held && send(deps, job, target, { identifier, delivery: held, answered: [], sent: 0 });
}

/**
 * The records that may arrive, by what names them to the sync: else by the person, so that an erasure knows of the
 * copy.
 */
function sendingOf({ items }: Delivery): Map<string, string | null> {
  return new Map(
    items
      .filter(({ sent }) => sent !== null)
      .flatMap(({ key, customerId }) => {
        const name = key ?? (customerId && JSON.stringify([customerId]));
        return name === null ? [] : [[name, customerId] as const];
      }),
  );
}

/**
 * Reduces a delivery to what is stored, and held while it is sent: the sent part of each record, and the part that an
 * error would show.
 */
function slim({ items, records }: Pick<Delivery, 'items' | 'records'>): Pick<Delivery, 'items' | 'records'> {
  return {
    records,
    items: items.map((item) => ({ ...item, record: null, source: item.sent === null ? null : item.source })),
  };
}

/** Sends what an attempt before this one had written down, if there is something. */
export async function deliverPending(deps: Dependencies, job: SyncJob, target: StreamTarget): Promise<void> {
  const pending = await findBatch(deps.db, job.sync.entityId, job.run.id);
  if (!pending) return;
  const { identifier, sent } = pending;
  // Should this try end with its process, any record may have left.
  if (sent !== null) await write(deps.db, (tx) => updateBatchSent(tx, job.sync.entityId, job.run.id, null));
  await send(deps, job, target, {
    identifier,
    delivery: deliveryOf(pending),
    answered: answeredOf(pending.outcomes),
    sent,
  });
}

/** Earlier versions stored the outcomes as `fates`. */
type StoredDelivery = Omit<Delivery, 'outcomes'> &
  (Pick<Delivery, 'outcomes'> | { outcomes?: undefined; fates: RecordOutcome[] });

function deliveryOf({ batch }: PendingBatch): Delivery {
  const delivery = JSON.parse(batch) as StoredDelivery;
  const outcomes = delivery.outcomes ?? delivery.fates;
  return { ...delivery, outcomes, items: delivery.items.map(revived) };
}

const answeredOf = (outcomes: string | null) => (outcomes === null ? [] : (JSON.parse(outcomes) as WriteOutcome[]));

/** Checksums and hashes are bytes, which JSON has none of. */
function revived(item: Outgoing): Outgoing {
  const bytes = (value: unknown) => (value === null ? null : Buffer.from((value as { data: number[] }).data));
  const error = item.error && { ...item.error, customerHash: bytes(item.error.customerHash) };
  return { ...item, checksum: bytes(item.checksum), error };
}

/** How often answers are recorded, also before an error is thrown, so that no record is sent again. */
const NOTE_EVERY_MS = 1_000;

/** A batch to be sent, or what is left of it; `sent` as earlier tries left it. */
type Sending = Pick<PendingBatch, 'identifier' | 'sent'> & { delivery: Delivery; answered: WriteOutcome[] };

async function send(
  deps: Dependencies,
  job: SyncJob,
  { stream, key, open, scope }: StreamTarget,
  { identifier, delivery, answered, sent }: Sending,
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
  return note(deps, job, delivery, outcomes);
}

function withoutSecret(outcome: WriteOutcome, secretSettings: OpenConnection['secretSettings']): WriteOutcome {
  return outcome.kind === 'failed'
    ? { ...outcome, message: shorten(redacted(outcome.message, secretSettings)) }
    : outcome;
}

/** `ended` describes a try that has failed: how many records were answered before it, and how many may have left. */
async function noteAnswered(
  deps: Dependencies,
  { key }: SyncJob,
  { records, share = null }: Delivery,
  outcomes: WriteOutcome[],
  ended?: { before: number; sent: number | null },
): Promise<void> {
  await write(deps.db, async (tx) => {
    const run = await lockRunOfBatch(tx, key);
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

/**
 * Records the outcomes of the batch, the counts and the source's cursor behind it in one transaction that locks the
 * run.
 */
async function note(
  deps: Dependencies,
  { key, sync }: SyncJob,
  delivery: Delivery,
  outcomes: WriteOutcome[],
): Promise<RunProgress | null> {
  const told = withOutcomes(delivery, outcomes);
  const noted = await write(deps.db, async (tx) => {
    const run = await lockRunOfBatch(tx, key);
    if (!run || !(await findBatch(tx, sync.entityId, run.id))) return null;
    return { before: run.progress, after: await noteDelivery(tx, deps, { sync, run }, { ...delivery, ...told }) };
  });
  if (noted) countRecords(deps, noted.before, noted.after);
  deps.boundary('sync: after a batch committed');
  return noted && noted.after;
}

const UNKNOWN = 'the run was canceled while it was on its way: whether it arrived is unknown';
const NOT_SENT = 'the run was canceled before it was sent';

type RunOfSync = { sync: Sync; run: SyncRun };
type Noting = Pick<Dependencies, 'secrets' | 'boundary'>;

/**
 * Counts the batch that a canceled run had on its way. The outcome of a record that may have left is unknown, and each
 * record says so. If there is none, the next run reads again what was not sent. `tx` holds sync and run.
 */
async function noteUnknown(tx: Tx, deps: Noting, { sync, run }: RunOfSync): Promise<void> {
  const pending = await findBatch(tx, sync.entityId, run.id);
  if (!pending) return;
  // A sync that has written nothing yet may have got another destination meanwhile, where the keys say nothing.
  if ('sorId' in sync.destination) return deleteBatch(tx, sync.entityId, run.id);
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

/**
 * Counts what the destination has answered of the batch that a failing run had on its way: the next run reads the rest
 * again.
 */
export async function noteAnsweredOfFailed(tx: Tx, deps: Noting, { sync, run }: RunOfSync): Promise<void> {
  const pending = await findBatch(tx, sync.entityId, run.id);
  if (pending && !('sorId' in sync.destination)) {
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
  } else if (answered.length === 0) {
    await deleteBatch(tx, sync.entityId, run.id);
  } else {
    await noteDelivery(
      tx,
      deps,
      { sync, run },
      { ...delivery, ...withOutcomes(answeredPart(delivery, answered.length), answered) },
      true,
    );
  }
}

/** The records that were answered, and those before the first that was not which needed no answer. */
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

/** If only a part of the batch was answered (`isPart`), the source is read again from before the batch. */
async function noteDelivery(
  tx: Tx,
  deps: Noting,
  { sync, run }: RunOfSync,
  { items, outcomes, bytes, share = null, position: behind, oddCursors = 0 }: Omit<Delivery, 'records'>,
  isPart = false,
): Promise<RunProgress> {
  await deleteBatch(tx, sync.entityId, run.id);
  const records = await forgetErased(tx, deps, sync, items);
  const errors = await recordOutcomes(tx, deps, { sync, run }, { records, outcomes, known: null });
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
  // Users may have changed the stream or its cursor field once the run was canceled.
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

/** Where a field is at fault, its value as it was sent is quoted. */
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
 * Counts what canceled runs had on its way, and ends them. Call it before the next run of the sync begins, which would
 * otherwise read and send the records again as if they had never been sent. `tx` holds the sync.
 */
export async function settleAbandonedBatches(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets' | 'boundary'>,
  sync: Sync,
): Promise<void> {
  for (const run of await lockRunsWithAbandonedBatches(tx, sync.entityId, sync.id))
    await noteUnknown(tx, deps, { sync, run });
}

/** The same, by itself. */
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
