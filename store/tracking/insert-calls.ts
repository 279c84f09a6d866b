import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { receiptOf } from '../../domain/sends/receipt.ts';
import type { RefusalCode, TrackedEvent } from '../../domain/tracking/call.ts';
import { escaped } from '../core/copy-text.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { type Receipt, updateReceipts } from '../sends/receipts.ts';
import {
  findErasedCalls,
  type IngestedCall,
  peopleOf,
  type SessionsOfCalls,
  type SubjectCalls,
  timestamp,
} from './app-call.ts';
import { crashOf, findOrInsertCrashes, updateCrashCounts } from './crashes.ts';
import { upsertDevices } from './devices.ts';
import { insertMessages } from './event-messages.ts';
import { insertTraits } from './insert-traits.ts';
import { insertIngestedBatches, type TakenIn } from './call-counts.ts';
import { keepRefusedCalls, type KeptRefusal } from './refused-calls.ts';
import { ingestSessions } from './sessions.ts';
import { countByDay, type DayCount } from './day-counts.ts';
import { findExcessAliases, insertUserAliases, MAX_ALIASES } from './user-aliases.ts';

/** Of the transaction that `ingestCalls` runs in. */
export const INGESTING = { settings: LOOK_UP_BY_KEY };

/** Why a call is refused that could be read. */
export const STORE_REFUSALS = {
  erased: 'this person was erased',
  too_many_aliases: `an id may have at most ${MAX_ALIASES} aliases: staff can refuse those that are wrong`,
} as const satisfies Partial<Record<RefusalCode, string>>;

export type CallOutcome = 'accepted' | 'duplicate' | keyof typeof STORE_REFUSALS;

/**
 * Takes calls in, of one or of several requests, and tells what became of each, in their order: events and locations,
 * sessions, devices, errors, traits for the feed. A call of an erased person is refused, and kept without what it told;
 * so is an alias too many of somebody, which is kept as it came.
 *
 * Runs in the caller's transaction (`write` with INGESTING), which holds the entity (`holdEntity`), with as many
 * statements whatever the number of calls. Before it, the caller makes the partitions of all `happenedAt`
 * (`ensurePartitions`), the new attributes (`insertNewAttributes`) and the new event definitions
 * (`insertNewDefinitions`); after its commit it wakes the feed. Whatever another transaction may hold as well is locked
 * kind by kind, each kind in the order of its key, so transactions wait for each other in no circle.
 */
export async function ingestCalls(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  batch: readonly IngestedCall[],
  { hasErased }: { hasErased: boolean },
): Promise<CallOutcome[]> {
  if (batch.length === 0) return [];
  const erased = await findErasedCalls(tx, secrets, entityId, batch, hasErased);
  const living = erased.size === 0 ? batch : batch.filter((call) => !erased.has(call));
  const excess = await findExcessAliases(tx, entityId, living);
  const wanted = excess.size === 0 ? living : living.filter((call) => !excess.has(call));
  const repeats = await insertMessages(tx, entityId, wanted);
  const accepted = wanted.filter((call) => !repeats.has(call)).toSorted((a, b) => a.happenedAt - b.happenedAt);
  const counts = accepted.length === 0 ? [] : await takeIn(tx, secrets, entityId, accepted);
  const refused = new Map([...erased].map(([call, hash]) => [call, erasedCall(call, hash)]));
  for (const call of excess) refused.set(call, excessAlias(call));
  for (const [appId, ofApp] of refusalsByApp(refused)) await keepRefusedCalls(tx, entityId, appId, ofApp);
  const outcomes = batch.map((call): CallOutcome =>
    erased.has(call) ? 'erased' : excess.has(call) ? 'too_many_aliases' : repeats.has(call) ? 'duplicate' : 'accepted',
  );
  await insertIngestedBatches(tx, entityId, countByApp(batch, outcomes), counts);
  return outcomes;
}

/** New calls, in the order of time. What they add to the counts of days is still to be written. */
async function takeIn(tx: Tx, secrets: Secrets, entityId: number, calls: IngestedCall[]): Promise<DayCount[]> {
  const crashes = await findOrInsertCrashes(tx, secrets, entityId, calls);
  await insertUserAliases(tx, entityId, calls);
  const { subjects, sessions } = await ingestSessions(tx, entityId, bySubject(calls));
  await copyEvents(tx, entityId, calls, sessions, (call) => crashOf(crashes, call));
  await copyLocations(tx, entityId, calls, sessions);
  await upsertDevices(tx, entityId, subjects);
  await insertTraits(tx, entityId, calls);
  await updateCrashCounts(tx, entityId, crashes.values());
  await ingestReceipts(tx, entityId, calls);
  return countByDay(calls, subjects);
}

function refusalsByApp(refused: ReadonlyMap<IngestedCall, KeptRefusal>): [number, KeptRefusal[]][] {
  const byApp = Map.groupBy(refused, ([{ appId }]) => appId);
  return [...byApp]
    .toSorted(([a], [b]) => a - b)
    .map(([appId, entries]) => [appId, entries.map(([, refusal]) => refusal)]);
}

function erasedCall(call: IngestedCall, customerHash: Buffer): KeptRefusal {
  return {
    index: call.index,
    messageId: namelessId(call),
    code: 'erased',
    message: STORE_REFUSALS.erased,
    raw: null,
    customerHash,
  };
}

function excessAlias(call: IngestedCall): KeptRefusal {
  const { index, messageId, type, userId, previousId, deviceId } = call;
  const raw = JSON.stringify({ type, userId, previousId, deviceId });
  return {
    index,
    messageId,
    code: 'too_many_aliases',
    message: STORE_REFUSALS.too_many_aliases,
    raw,
    people: peopleOf(call),
  };
}

/** Its messageId, unless an id of whom it is of stands in it: what names the erased is not kept. */
function namelessId(call: IngestedCall): string | null {
  const { messageId } = call;
  return messageId !== null && peopleOf(call).some(({ customerId }) => messageId.includes(customerId))
    ? null
    : messageId;
}

function bySubject(calls: IngestedCall[]): SubjectCalls[] {
  const subjects = new Map<string, SubjectCalls>();
  for (const call of calls) {
    const subject = call.deviceId === null ? `u${call.userId!}` : `d${call.deviceId}`;
    const key = `${call.appId} ${subject}`;
    const own = subjects.get(key);
    if (own) own.calls.push(call);
    else subjects.set(key, { appId: call.appId, subject, deviceId: call.deviceId, calls: [call] });
  }
  return [...subjects.values()];
}

function countByApp(batch: readonly IngestedCall[], outcomes: readonly CallOutcome[]): TakenIn[] {
  const byApp = new Map<number, TakenIn>();
  for (const [at, { appId }] of batch.entries()) {
    const taken = byApp.get(appId) ?? { appId, accepted: 0, duplicates: 0, refused: 0 };
    byApp.set(appId, taken);
    if (outcomes[at] === 'accepted') taken.accepted += 1;
    else if (outcomes[at] === 'duplicate') taken.duplicates += 1;
    else taken.refused += 1;
  }
  return [...byApp.values()];
}

/** How much of COPY's text goes into one message. */
const PIECE_LENGTH = 60_000;

/** The events of calls, each with its session; `crashes` has the id of each kind of error. */
async function copyEvents(
  tx: Tx,
  entityId: number,
  calls: readonly IngestedCall[],
  sessions: SessionsOfCalls,
  crashes: (call: IngestedCall) => number | null,
): Promise<void> {
  const told = calls.filter(({ event }) => event !== null);
  if (told.length === 0) return;
  const columns =
    'entity_id, app_id, happened_at, session_id, crash_id, log_type, utc_offset, device_id, user_id, name, detail';
  await copyInto(tx, `COPY events (${columns}) FROM STDIN`, told, (call) => {
    const {
      appId,
      happenedAt,
      context: { utcOffset },
      deviceId,
      userId,
    } = call;
    const { logType, name, detail } = call.event as TrackedEvent;
    return `${entityId}\t${appId}\t${timestamp(happenedAt)}\t${sessions.get(call)!.id}\t${shown(crashes(call))}\t${logType}\t${shown(
      utcOffset,
    )}\t${shownText(deviceId)}\t${shownText(userId)}\t${escaped(name)}\t${
      detail === null ? '\\N' : escaped(JSON.stringify(detail))
    }\n`;
  });
}

/** Where calls that tell of it were made. */
async function copyLocations(
  tx: Tx,
  entityId: number,
  calls: readonly IngestedCall[],
  sessions: SessionsOfCalls,
): Promise<void> {
  const located = calls.filter(({ context }) => context.latitude !== null && context.longitude !== null);
  if (located.length === 0) return;
  const columns = 'entity_id, app_id, happened_at, session_id, latitude, longitude, device_id, user_id';
  await copyInto(tx, `COPY locations (${columns}) FROM STDIN`, located, (call) => {
    const {
      appId,
      happenedAt,
      context: { latitude, longitude },
      deviceId,
      userId,
    } = call;
    return `${entityId}\t${appId}\t${timestamp(happenedAt)}\t${sessions.get(call)!.id}\t${latitude}\t${longitude}\t${shownText(
      deviceId,
    )}\t${shownText(userId)}\n`;
  });
}

async function copyInto(
  tx: Tx,
  statement: string,
  calls: IngestedCall[],
  line: (call: IngestedCall) => string,
): Promise<void> {
  await pipeline(pieces(calls, line), tx.query(copyFrom(statement)));
}

function* pieces(calls: IngestedCall[], line: (call: IngestedCall) => string): Generator<Buffer> {
  let piece = '';
  for (const call of calls) {
    piece += line(call);
    if (piece.length < PIECE_LENGTH) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  if (piece !== '') yield Buffer.from(piece);
}

function shown(value: number | null): string {
  return value === null ? '\\N' : String(value);
}

function shownText(text: string | null): string {
  return text === null ? '\\N' : escaped(text);
}

/** Notes what calls tell of messages that their own device got. */
async function ingestReceipts(tx: Tx, entityId: number, calls: readonly IngestedCall[]): Promise<void> {
  const receipts = calls.flatMap(({ appId, deviceId, event, happenedAt }): Receipt[] => {
    const receipt = event === null || deviceId === null ? null : receiptOf(event.name, event.detail);
    return receipt === null ? [] : [{ ...receipt, appId, deviceId: deviceId!, at: timestamp(happenedAt) }];
  });
  await updateReceipts(tx, entityId, receipts);
}
