/** Steps that merge an entity's inbox of the JSON feed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { textOf } from '../../domain/attributes/json-value.ts';
import { refused } from '../../domain/attributes/value-row.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import {
  type CheckedFeed,
  checkFeed,
  type FeedError,
  type FeedValue,
  valueError,
  type WaitingRequest,
  type WaitingValue,
} from '../../domain/feed/feed-value.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import { type ImportError, isOfErased } from '../../domain/imports/import-error.ts';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import {
  mergeAttributeValues,
  type MergeRefusal,
  prepareChanges,
} from '../../store/attributes/merge-attribute-values.ts';
import { holdSorRevision } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import {
  type FeedCounts,
  listWaitingFeedRequests,
  lockFeed,
  updateFeedRequestsDone,
  updateFeedWait,
  type WaitingFeedRequest,
} from '../../store/feed/feed-requests.ts';
import { insertErrorsOf } from '../../store/imports/import-errors.ts';
import { insertLiveCalls, MAX_LIVE_CALLS } from '../../store/tracking/call-reports.ts';
import { sorRules } from '../attributes/sor-rules.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot, type NoteWait, takeSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';
import { redactErased } from '../gdpr/redact-erased.ts';

export type FeedAttributesSteps = ReturnType<typeof feedAttributesSteps>;

/** Maximum time of a step, so that its progress is visible. */
const STEP_MS = 60_000;

/** Pause after a small batch: many small transactions cost much more than a few large ones. */
const PAUSE_MS = 100;

export const feedAttributesSteps = (deps: Dependencies) => ({
  /** Merges the entity's inbox, batch by batch, until it is empty or the time is over. */
  drainFeed: (entityId: number): Promise<{ isEmpty: boolean }> => {
    const note: NoteWait = (isWaiting) => updateFeedWait(deps.db, entityId, isWaiting);
    return heartbeating(() => inSlot(deps.takeFeedSlot, entityId, () => drain(deps, entityId, note), note));
  },
});

async function drain(deps: Dependencies, entityId: number, note: NoteWait): Promise<{ isEmpty: boolean }> {
  const until = performance.now() + STEP_MS;
  while (performance.now() < until) {
    deps.draining.throwIfAborted();
    const merged = await mergeInTurn(deps, entityId, note);
    if (merged === null) return { isEmpty: true };
    if (merged < feedBatchValues(deps) / 2) await delay(PAUSE_MS);
  }
  return { isEmpty: false };
}

/** Merges one batch in a slot: bodies of several batches at once would take memory without bound. */
async function mergeInTurn(deps: Dependencies, entityId: number, note: NoteWait): Promise<number | null> {
  const freeSlot = await takeSlot(deps.takeBatchSlot, entityId, note, false);
  try {
    return await inSlot(deps.takeFeedBatchSlot, entityId, () => mergeFeed(deps, entityId));
  } finally {
    freeSlot();
  }
}

/** Maximum size of a batch; a larger request is a batch by itself. */
const BATCH_BYTES = 4 * 1024 ** 2;
/** If each value changes a Set of 1,000 elements, the transaction takes half of its maximum time. */
const BATCH_VALUES = 3_000;

type FeedDependencies = Pick<Dependencies, 'db' | 'secrets' | 'log' | 'countValues' | 'batchRecords' | 'boundary'>;

/** Returns the number of values in a full batch. */
function feedBatchValues({ batchRecords }: Pick<Dependencies, 'batchRecords'>): number {
  return Math.min(batchRecords, BATCH_VALUES);
}

/**
 * Merges the oldest requests of an entity's inbox: their values, errors and ends commit in one transaction. A
 * concurrent call waits, and then continues with the rest. Returns the number of values, or null if no request waited.
 */
export async function mergeFeed(deps: FeedDependencies, entityId: number): Promise<number | null> {
  let failed: FailedTrait[] = [];
  const counts = await write(
    deps.db,
    async (tx) => {
      await lockFeed(tx, entityId);
      const waiting = await listWaitingFeedRequests(tx, entityId, {
        values: feedBatchValues(deps),
        bytes: BATCH_BYTES,
      });
      if (waiting.length === 0) return null;
      const requests = waiting.map(({ body, ...request }) => ({
        ...request,
        values: parseExactJson(body) as WaitingValue[],
      }));
      const errors: FeedError[] = [];
      const [older, suspicious]: number[][] = [[], []];
      // In the order of the SoRs, so that merges that wait for each other's rules do not deadlock.
      const sorIds = [...new Set(requests.map(({ sorId }) => sorId))].toSorted((a, b) => a - b);
      for (const sorId of sorIds) {
        const own = requests.filter((request) => request.sorId === sorId);
        const merged = await mergeInto(tx, deps, { entityId, sorId }, own);
        for (const error of merged.errors) errors.push(error);
        for (const line of merged.older) older!.push(valueAt(own, line).request.id);
        for (const line of merged.suspicious) suspicious!.push(valueAt(own, line).request.id);
      }
      failed = failedTraits(waiting, errors);
      await insertErrorsOf(
        tx,
        entityId,
        errors.map(({ requestId, error }) => ({ importId: requestId, error })),
      );
      const done = countsOf(requests, errors, { older: older!, suspicious: suspicious! });
      await updateFeedRequestsDone(tx, entityId, done);
      deps.boundary('feed: before a batch commits');
      return done;
    },
    { collide: true },
  );
  if (counts === null) return null;
  deps.boundary('feed: after a batch committed');
  await showFailedTraits(deps, entityId, failed);
  return countValues(deps, counts);
}

type FailedTrait = Parameters<typeof insertLiveCalls>[3][number];

/** Returns the errors of traits for their app's live list, at most the number that is kept, without erased people. */
function failedTraits(waiting: readonly WaitingFeedRequest[], errors: readonly FeedError[]): FailedTrait[] {
  const appOf = new Map(waiting.flatMap(({ id, traits }) => (traits ? [[id, traits.appId] as const] : [])));
  const ofTraits = errors.filter(({ requestId, error }) => appOf.has(requestId) && !isOfErased(error));
  const byApp = Map.groupBy(ofTraits, ({ requestId }) => appOf.get(requestId)!);
  return [...byApp].flatMap(([appId, own]) =>
    own.slice(-MAX_LIVE_CALLS).map(({ error }): FailedTrait => ({
      appId,
      receivedAt: new Date(),
      outcome: 'failed',
      code: error.errorType,
      message: error.message,
      messageId: null,
      call: error.raw ?? '',
      people: error.customerId === null ? [] : [{ customerType: typeOf(error), customerId: error.customerId }],
    })),
  );
}

/** Runs outside the merge: errors that cannot be written are not shown. */
async function showFailedTraits(
  { db, secrets, log }: FeedDependencies,
  entityId: number,
  failed: readonly FailedTrait[],
): Promise<void> {
  if (failed.length === 0) return;
  await write(db, (tx) => insertLiveCalls(tx, secrets, entityId, failed)).catch((error: unknown) => {
    log.warn({ entityId, ...internalErrorOf(error) }, 'traits that failed could not be shown');
  });
}

type Target = { entityId: number; sorId: number };

/** Returns the type of the customer id in an error's value. */
function typeOf({ raw }: ImportError): CustomerType {
  return /"customer_id_type": ?"device_id"/.test(raw ?? '') ? 'device_id' : 'user_id';
}

/** Merges by the SoR's rules as they are now; they stay until the transaction ends. */
async function mergeInto(
  tx: Tx,
  { secrets }: FeedDependencies,
  { entityId, sorId }: Target,
  requests: WaitingRequest[],
): Promise<Omit<CheckedFeed, 'changes'>> {
  await holdSorRevision(tx, entityId, sorId);
  const { changes, errors, older, suspicious } = checkFeed(requests, await sorRules(tx, entityId, sorId));
  const met = requests.some(({ traits }) => traits) ? new Set<number>() : undefined;
  const said = { at: requests.at(-1)!.receivedAt, isFeed: true, ...(met && { older: met }) };
  const refusals = await mergeAttributeValues(tx, secrets, entityId, sorId, prepareChanges(changes), { said });
  const told = await redactErased(
    tx,
    { secrets },
    entityId,
    errors.map(({ error }) => error),
    typeOf,
  );
  // An older value of the JSON feed counts as merged: of two concurrent requests either may be the first.
  for (const line of met ?? []) if (valueAt(requests, line).request.traits) older.add(line);
  return {
    older,
    suspicious,
    errors: [
      ...errors.map(({ requestId }, index) => ({ requestId, error: told[index]! })),
      ...refusals.map((refusal) => refusalError(requests, refusal)),
    ],
  };
}

function refusalError(requests: WaitingRequest[], refusal: MergeRefusal): FeedError {
  const { request, ordinal } = valueAt(requests, refusal.line);
  if ('erasedHash' in refusal) return { requestId: request.id, error: erasedError(ordinal, refusal.erasedHash) };
  const value = request.values[ordinal] as FeedValue;
  const row = refused(refusal.errorType, refusal.message, textOf(value.customer_id), textOf(value.attribute_key));
  return { requestId: request.id, error: valueError(ordinal, value, row, 'merge') };
}

/** The requests of traits older than the stored value, and of values whose customer id is probably a mistake. */
type Noted = { older: readonly number[]; suspicious: readonly number[] };

/** Returns the counts of each request's values. */
function countsOf(
  requests: WaitingRequest[],
  errors: FeedError[],
  { older, suspicious }: Noted,
): ({ id: number } & FeedCounts)[] {
  const counts = new Map(
    requests.map(({ id, values }) => [
      id,
      { id, valuesOk: values.length, valuesIgnored: 0, valuesFailed: 0, suspiciousIds: 0 },
    ]),
  );
  for (const { requestId, error } of errors) {
    const own = counts.get(requestId)!;
    own.valuesOk -= 1;
    if (error.outcome === 'ignored') own.valuesIgnored += 1;
    else own.valuesFailed += 1;
  }
  for (const requestId of older) {
    const own = counts.get(requestId)!;
    own.valuesOk -= 1;
    own.valuesIgnored += 1;
  }
  for (const requestId of suspicious) counts.get(requestId)!.suspiciousIds += 1;
  return [...counts.values()];
}

/** Counts values in the metrics, and returns their number. */
function countValues({ countValues: count }: FeedDependencies, counts: FeedCounts[]): number {
  const sum = (outcome: keyof FeedCounts) => counts.reduce((total, request) => total + request[outcome], 0);
  const [ok, ignored, failed] = [sum('valuesOk'), sum('valuesIgnored'), sum('valuesFailed')];
  count('ok', ok);
  count('ignored', ignored);
  count('failed', failed);
  return ok + ignored + failed;
}

function valueAt(requests: readonly WaitingRequest[], line: number): { request: WaitingRequest; ordinal: number } {
  let ordinal = line;
  for (const request of requests) {
    if (ordinal < request.values.length) return { request, ordinal };
    ordinal -= request.values.length;
  }
  throw new RangeError('there are fewer values');
}
