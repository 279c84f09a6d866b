/** Inserts the calls of requests, and all that they say, in one transaction. */

import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { receiptOf, type ReceiptKind } from '../../domain/sends/attempt.ts';
import type { RefusalCode, CallEvent } from '../../domain/tracking/call.ts';
import { escaped } from '../core/copy-out.ts';
import type { Tx, Queryable } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { REPORT_DAYS } from '../sends/reports.ts';
import {
  findErasedCalls,
  type AppCall,
  peopleOf,
  type SessionsOfCalls,
  type SubjectCalls,
  timestamp,
  type PlacedSubject,
} from './app-call.ts';
import { crashOf, findOrInsertCrashes, updateCrashCounts } from './crashes.ts';
import { upsertDevices } from './devices.ts';
import { insertMessages } from './event-messages.ts';
import { insertTraits } from './insert-traits.ts';
import { keepRefusedCalls, type RefusedCallRow, insertCallCounts, type AppCallCounts } from './call-reports.ts';
import { placeInSessions } from './sessions.ts';
import type { DayCount, CountedTable } from './day-counts.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { OF_ANY_APP } from '../gdpr/rows-of-people.ts';
import { DAY_MS } from '../../domain/time/durations.ts';

export const INSERT_CALLS = { settings: LOOK_UP_BY_KEY };

/** Maximum number of aliases of a user, and of an earlier id: an app's key could write any number. */
const MAX_ALIASES = 100;

export const STORE_REFUSALS = {
  erased: 'this person was erased',
  too_many_aliases: `an id may have at most ${MAX_ALIASES} aliases: staff can refuse those that are wrong`,
} as const satisfies Partial<Record<RefusalCode, string>>;

export type CallOutcome = 'accepted' | 'duplicate' | keyof typeof STORE_REFUSALS;

/**
 * Inserts calls of one or several requests, and returns their outcomes in order. Refuses a call of an erased person,
 * keeping only its reason, and an alias beyond an id's limit, which it keeps as it came. Runs in a transaction with
 * INSERT_CALLS that holds the entity (`holdEntity`). Before it the caller creates partitions (`ensurePartitions`),
 * attributes (`insertNewAttributes`) and event definitions (`insertNewDefinitions`); after it the caller wakes the
 * feed. Locks table by table in order of the key, so transactions never wait in a circle.
 */
export async function insertCalls(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  batch: readonly AppCall[],
  { hasErased }: { hasErased: boolean },
): Promise<CallOutcome[]> {
  if (batch.length === 0) return [];
  const erased = await findErasedCalls(tx, secrets, entityId, batch, hasErased);
  const living = erased.size === 0 ? batch : batch.filter((call) => !erased.has(call));
  const excess = await findExcessAliases(tx, entityId, living);
  const wanted = excess.size === 0 ? living : living.filter((call) => !excess.has(call));
  const repeats = await insertMessages(tx, entityId, wanted);
  const accepted = wanted.filter((call) => !repeats.has(call)).toSorted((a, b) => a.happenedAt - b.happenedAt);
  const counts = accepted.length === 0 ? [] : await insertAccepted(tx, secrets, entityId, accepted);
  const refused = new Map([...erased].map(([call, hash]) => [call, erasedCall(call, hash)]));
  for (const call of excess) refused.set(call, excessAlias(call));
  for (const [appId, ofApp] of refusalsByApp(refused)) await keepRefusedCalls(tx, entityId, appId, ofApp);
  const outcomes = batch.map((call): CallOutcome =>
    erased.has(call) ? 'erased' : excess.has(call) ? 'too_many_aliases' : repeats.has(call) ? 'duplicate' : 'accepted',
  );
  await insertCallCounts(tx, entityId, countByApp(batch, outcomes), counts);
  return outcomes;
}

/** Inserts new calls, in order of time. Returns what they add to the counts of days, which is not written yet. */
async function insertAccepted(tx: Tx, secrets: Secrets, entityId: number, calls: AppCall[]): Promise<DayCount[]> {
  const crashes = await findOrInsertCrashes(tx, secrets, entityId, calls);
  await insertUserAliases(tx, entityId, calls);
  const { subjects, sessions } = await placeInSessions(tx, entityId, bySubject(calls));
  await copyEvents(tx, entityId, calls, sessions, (call) => crashOf(crashes, call));
  await copyLocations(tx, entityId, calls, sessions);
  await upsertDevices(tx, entityId, subjects);
  await insertTraits(tx, entityId, calls);
  await updateCrashCounts(tx, entityId, crashes.values());
  await insertReceipts(tx, entityId, calls);
  return countByDay(calls, subjects);
}

function refusalsByApp(refused: ReadonlyMap<AppCall, RefusedCallRow>): [number, RefusedCallRow[]][] {
  const byApp = Map.groupBy(refused, ([{ appId }]) => appId);
  return [...byApp]
    .toSorted(([a], [b]) => a - b)
    .map(([appId, entries]) => [appId, entries.map(([, refusal]) => refusal)]);
}

function erasedCall(call: AppCall, customerHash: Buffer): RefusedCallRow {
  return {
    index: call.index,
    messageId: namelessId(call),
    code: 'erased',
    message: STORE_REFUSALS.erased,
    raw: null,
    customerHash,
  };
}

function excessAlias(call: AppCall): RefusedCallRow {
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

/** Returns the messageId, unless it contains an id of the erased person. */
function namelessId(call: AppCall): string | null {
  const { messageId } = call;
  return messageId !== null && peopleOf(call).some(({ customerId }) => messageId.includes(customerId))
    ? null
    : messageId;
}

function bySubject(calls: AppCall[]): SubjectCalls[] {
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

function countByApp(batch: readonly AppCall[], outcomes: readonly CallOutcome[]): AppCallCounts[] {
  const byApp = new Map<number, AppCallCounts>();
  for (const [at, { appId }] of batch.entries()) {
    const taken = byApp.get(appId) ?? { appId, accepted: 0, duplicates: 0, refused: 0 };
    byApp.set(appId, taken);
    if (outcomes[at] === 'accepted') taken.accepted += 1;
    else if (outcomes[at] === 'duplicate') taken.duplicates += 1;
    else taken.refused += 1;
  }
  return [...byApp.values()];
}

/** Counts new calls by day: events, locations, and sessions that begin or whose start has moved. */
function countByDay(calls: readonly AppCall[], subjects: readonly PlacedSubject[]): DayCount[] {
  const counts = new Map<string, DayCount>();
  const add = (appId: number, at: number, table: CountedTable, rows: number) => {
    const day = Math.floor(at / DAY_MS);
    const key = `${appId} ${day}`;
    const count = counts.get(key) ?? { appId, day, events: 0, sessions: 0, locations: 0 };
    count[table] += rows;
    counts.set(key, count);
  };
  for (const { appId, happenedAt, event, context } of calls) {
    if (event !== null) add(appId, happenedAt, 'events', 1);
    if (context.latitude !== null && context.longitude !== null) add(appId, happenedAt, 'locations', 1);
  }
  for (const { appId, placed } of subjects) {
    for (const { session, foundAt } of placed) {
      if (foundAt === session.startedAt) continue;
      add(appId, session.startedAt, 'sessions', 1);
      if (foundAt !== null) add(appId, foundAt, 'sessions', -1);
    }
  }
  return [...counts.values()];
}

const PIECE_LENGTH = 60_000;

async function copyEvents(
  tx: Tx,
  entityId: number,
  calls: readonly AppCall[],
  sessions: SessionsOfCalls,
  crashes: (call: AppCall) => number | null,
): Promise<void> {
  const withEvent = calls.filter(({ event }) => event !== null);
  if (withEvent.length === 0) return;
  const columns =
    'entity_id, app_id, happened_at, session_id, crash_id, log_type, utc_offset, device_id, user_id, name, detail';
  await copyInto(tx, `COPY events (${columns}) FROM STDIN`, withEvent, (call) => {
    const {
      appId,
      happenedAt,
      context: { utcOffset },
      deviceId,
      userId,
    } = call;
    const { logType, name, detail } = call.event as CallEvent;
    return `${entityId}\t${appId}\t${timestamp(happenedAt)}\t${sessions.get(call)!.id}\t${shown(crashes(call))}\t${logType}\t${shown(
      utcOffset,
    )}\t${shownText(deviceId)}\t${shownText(userId)}\t${escaped(name)}\t${
      detail === null ? '\\N' : escaped(JSON.stringify(detail))
    }\n`;
  });
}

async function copyLocations(
  tx: Tx,
  entityId: number,
  calls: readonly AppCall[],
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

async function copyInto(tx: Tx, statement: string, calls: AppCall[], line: (call: AppCall) => string): Promise<void> {
  await pipeline(pieces(calls, line), tx.query(copyFrom(statement)));
}

function* pieces(calls: AppCall[], line: (call: AppCall) => string): Generator<Buffer> {
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

/** Updates attempts by the receipts that calls have of messages of their own device. */
async function insertReceipts(tx: Tx, entityId: number, calls: readonly AppCall[]): Promise<void> {
  const receipts = calls.flatMap(({ appId, deviceId, event, happenedAt }): Receipt[] => {
    const receipt = event === null || deviceId === null ? null : receiptOf(event.name, event.detail);
    return receipt === null ? [] : [{ ...receipt, appId, deviceId: deviceId!, at: timestamp(happenedAt) }];
  });
  await updateReceipts(tx, entityId, receipts);
}

type AliasCall = AppCall & { previousId: string; userId: string };

function isAlias(call: AppCall): call is AliasCall {
  return call.previousId !== null && call.userId !== null && call.previousId !== call.userId;
}

async function findExcessAliases(tx: Tx, entityId: number, calls: readonly AppCall[]): Promise<Set<AppCall>> {
  const aliases = calls.filter(isAlias);
  if (aliases.length === 0) return new Set();
  const stored = (column: string) => `(SELECT count(*) FROM (
    SELECT FROM user_aliases a WHERE a.entity_id = $1 AND a.${column} = new.${column} AND a.decision IS DISTINCT FROM 'refused'
    LIMIT ${MAX_ALIASES}) AS stored)`;
  // Uses the primary key of user_aliases, and user_aliases_by_user.
  const rows = readRows<Row<'user_aliases', 'previousId' | 'userId'>>(
    await tx.query(
      `WITH new AS (
       SELECT previous_id, user_id, row_number() OVER (PARTITION BY user_id ORDER BY ordinal) AS of_user,
         row_number() OVER (PARTITION BY previous_id ORDER BY ordinal) AS of_previous
       FROM (SELECT previous_id, user_id, min(ordinal) AS ordinal
         FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS g (previous_id, user_id, ordinal) GROUP BY previous_id, user_id) AS given
       WHERE NOT EXISTS (SELECT FROM user_aliases a
         WHERE a.entity_id = $1 AND a.previous_id = given.previous_id AND a.user_id = given.user_id))
     SELECT previous_id, user_id FROM new
     WHERE of_user + ${stored('user_id')} > ${MAX_ALIASES} OR of_previous + ${stored('previous_id')} > ${MAX_ALIASES}`,
      [entityId, aliases.map(({ previousId }) => previousId), aliases.map(({ userId }) => userId)],
    ),
  );
  const excess = new Set(rows.map(({ previousId, userId }) => keyOf({ previousId, userId })));
  return new Set(aliases.filter((call) => excess.has(keyOf(call))));
}

/** Inserts aliases. `witnessed`: only the calling device knew the earlier id (docs/gdpr.md, "Whose word links ids"). */
async function insertUserAliases(tx: Tx, entityId: number, calls: readonly AppCall[]): Promise<void> {
  const aliases = [
    ...new Map(
      calls
        .filter(isAlias)
        .toReversed()
        .map((call) => [keyOf(call), call]),
    ).values(),
  ].toReversed();
  if (aliases.length === 0) return;
  const firstDeviceOf = new Map(aliases.toReversed().map(({ previousId, deviceId }) => [previousId, deviceId]));
  const isFirst = aliases.map(({ previousId, deviceId }) => firstDeviceOf.get(previousId) === deviceId);
  await tx.query(
    `INSERT INTO user_aliases (entity_id, previous_id, user_id, app_id, device_id, witnessed)
     SELECT $1, previous_id, user_id, app_id, device_id, is_first AND device_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM device_users u
         WHERE u.entity_id = $1 AND u.user_id = given.previous_id AND u.device_id <> given.device_id)
       AND (previous_id = device_id OR NOT EXISTS (
         SELECT FROM devices d WHERE d.entity_id = $1 AND d.${OF_ANY_APP} AND d.device_id = given.previous_id))
       AND NOT EXISTS (SELECT FROM session_heads h
         WHERE h.entity_id = $1 AND h.${OF_ANY_APP} AND h.subject = 'u' || given.previous_id)
       AND NOT EXISTS (SELECT FROM user_aliases o WHERE o.entity_id = $1 AND o.previous_id = given.previous_id AND o.witnessed
         AND o.user_id <> given.user_id AND o.device_id IS DISTINCT FROM given.device_id)
     FROM unnest($2::text[], $3::text[], $4::integer[], $5::text[], $6::boolean[])
       AS given (previous_id, user_id, app_id, device_id, is_first)
     ORDER BY previous_id COLLATE "C", user_id COLLATE "C" ON CONFLICT DO NOTHING`,
    [
      entityId,
      aliases.map(({ previousId }) => previousId),
      aliases.map(({ userId }) => userId),
      aliases.map(({ appId }) => appId),
      aliases.map(({ deviceId }) => deviceId),
      isFirst,
    ],
  );
}

function keyOf({ previousId, userId }: Pick<AliasCall, 'previousId' | 'userId'>): string {
  return JSON.stringify([previousId, userId]);
}

/** A report by a device about an attempt; `at` is ISO 8601. */
type Receipt = { appId: number; deviceId: string; attemptId: number; kind: ReceiptKind; at: string };

const MAY_BE_SENT = `(a.channel <> 'inapp' AND (a.state = 'sending' OR a.code IN ('PUSH_SENT', 'UNKNOWN')))`;
const IS_GIVEN = 'a.inapp_until IS NOT NULL';

/**
 * Records a device's receipts for its own messages; the first of each kind counts. An opened push was delivered, too, a
 * clicked in-app message shown. Ignores attempts that reports no longer have, or that never left. Uses the index
 * attempts_by_device.
 */
async function updateReceipts(tx: Queryable, entityId: number, receipts: readonly Receipt[]): Promise<void> {
  if (receipts.length === 0) return;
  const first = (...kinds: ReceiptKind[]) =>
    `min(at) FILTER (WHERE kind IN (${kinds.map((kind) => `'${kind}'`).join(', ')}))`;
  await tx.query(
    `WITH received AS MATERIALIZED (
       SELECT app_id, device_id, attempt_id, ${first('delivered', 'opened')} AS delivered_at, ${first('opened')} AS opened_at,
         ${first('shown', 'clicked')} AS shown_at, ${first('clicked')} AS clicked_at
       FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::text[], $6::timestamptz[])
         AS given (app_id, device_id, attempt_id, kind, at)
       GROUP BY app_id, device_id, attempt_id
     ), held AS (
       SELECT a.campaign_id, a.id, CASE WHEN ${MAY_BE_SENT} THEN t.delivered_at END AS delivered_at,
         CASE WHEN ${MAY_BE_SENT} THEN t.opened_at END AS opened_at, CASE WHEN ${IS_GIVEN} THEN t.shown_at END AS shown_at,
         CASE WHEN ${IS_GIVEN} THEN t.clicked_at END AS clicked_at
       FROM attempts a JOIN received t ON t.device_id = a.device_id COLLATE "C" AND t.attempt_id = a.id
       WHERE a.entity_id = $1 AND a.app_id = t.app_id AND a.created_at > now() - interval '${REPORT_DAYS} days'
       ORDER BY a.campaign_id, a.id FOR NO KEY UPDATE OF a)
     UPDATE attempts a SET delivered_at = coalesce(a.delivered_at, h.delivered_at), opened_at = coalesce(a.opened_at, h.opened_at),
       shown_at = coalesce(a.shown_at, h.shown_at), clicked_at = coalesce(a.clicked_at, h.clicked_at), changed_at = now(),
       content = CASE WHEN c.is_sensitive AND h.shown_at IS NOT NULL AND a.state = 'settled' THEN NULL ELSE a.content END
     FROM held h JOIN campaigns c ON c.entity_id = $1 AND c.id = h.campaign_id
     WHERE a.entity_id = $1 AND a.campaign_id = h.campaign_id AND a.id = h.id
       AND ((a.delivered_at IS NULL AND h.delivered_at IS NOT NULL) OR (a.opened_at IS NULL AND h.opened_at IS NOT NULL)
         OR (a.shown_at IS NULL AND h.shown_at IS NOT NULL) OR (a.clicked_at IS NULL AND h.clicked_at IS NOT NULL))`,
    [
      entityId,
      receipts.map(({ appId }) => appId),
      receipts.map(({ deviceId }) => deviceId),
      receipts.map(({ attemptId }) => attemptId),
      receipts.map(({ kind }) => kind),
      receipts.map(({ at }) => at),
    ],
  );
}
