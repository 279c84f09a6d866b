/** Reports on calls: refused ones for 30 days, the last ones of an app for an hour, and counts by UTC day. */

import { readRows, type Row } from '../core/camel-row.ts';
import { ERASED } from '../../domain/core/erased.ts';
import { storable } from '../../domain/text/text-limits.ts';
import type { ListCursor } from '../../domain/core/list-cursor.ts';
import type { RefusalCode, RefusedCall } from '../../domain/tracking/call.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedTexts } from '../gdpr/erased-texts.ts';
import { subjectOf } from '../gdpr/people-keys.ts';
import { findErased, type Person, personKey } from '../gdpr/tombstones.ts';
import { messageHash } from './event-messages.ts';
import type { DayCount } from './day-counts.ts';

/** A refused call: shortened; for an erased person only the keyed hash. `messageHash` identifies its repeats. */
export type RefusedCallRow = RefusedCall &
  (
    | { raw: string; people: readonly Person[]; customerHash?: null }
    | { raw: null; people?: never; customerHash: Buffer | null; messageHash?: string | null }
  );

const MESSAGE_ID_LENGTH = 256;

/** Returns the column `subjects` as JSON: a statement about several calls takes one text for each. */
function subjectsOf(people: readonly Person[]): string {
  return JSON.stringify([...new Set(people.map((person) => storable(subjectOf(person))))]);
}

/** Inserts and counts refused calls. One refused before under the same messageId counts as a duplicate. */
export async function insertRefusedCalls(
  tx: Tx,
  entityId: number,
  appId: number | null,
  refused: readonly RefusedCallRow[],
): Promise<void> {
  if (refused.length === 0) return;
  const kept = await keepRefusedCalls(tx, entityId, appId, refused);
  await insertCallCounts(tx, entityId, [{ appId, accepted: 0, duplicates: refused.length - kept, refused: kept }]);
}

export async function keepRefusedCalls(
  tx: Tx,
  entityId: number,
  appId: number | null,
  refused: readonly RefusedCallRow[],
): Promise<number> {
  if (refused.length === 0) return 0;
  // In order of the unique key, so that two batches never wait for each other.
  const { rowCount } = await tx.query(
    `INSERT INTO refused_calls (entity_id, app_id, index, message_id, message_hash, code, message, raw, customer_hash, subjects)
     SELECT $1, $2, index, message_id, decode(message_hash, 'hex'), code, message, raw, decode(customer_hash, 'hex'),
       ARRAY(SELECT json_array_elements_text(subjects::json))
     FROM unnest($3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
       AS given (index, message_id, message_hash, code, message, raw, customer_hash, subjects)
     ORDER BY message_hash, index
     ON CONFLICT (entity_id, app_id, message_hash) WHERE message_hash IS NOT NULL DO NOTHING`,
    [
      entityId,
      appId,
      refused.map(({ index }) => index),
      refused.map(({ messageId }) => messageId?.slice(0, MESSAGE_ID_LENGTH) ?? null),
      refused.map(hashOfMessage),
      refused.map(({ code }) => code),
      refused.map(({ message }) => message),
      refused.map(({ raw }) => raw),
      refused.map(({ customerHash }) => customerHash?.toString('hex') ?? null),
      refused.map(({ people }) => subjectsOf(people ?? [])),
    ],
  );
  return rowCount!;
}

function hashOfMessage(call: RefusedCallRow): string | null {
  if (call.messageId !== null) return messageHash(call.messageId);
  return 'messageHash' in call ? (call.messageHash ?? null) : null;
}

export type RefusedAppCall = RefusedCall & { appId: number | null; raw: string; people: Person[] };

/** Inserts the refused calls of requests. Stores only the reason of a call that names an erased person. */
export async function insertRefusedAppCalls(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  refused: readonly RefusedAppCall[],
): Promise<void> {
  if (refused.length === 0) return;
  const kept = await redactRefusedCalls(tx, secrets, entityId, refused);
  const byApp = Map.groupBy(refused.keys(), (index) => refused[index]!.appId);
  for (const [appId, own] of [...byApp].toSorted(([a], [b]) => (a ?? Infinity) - (b ?? Infinity))) {
    await insertRefusedCalls(
      tx,
      entityId,
      appId,
      own.map((index) => kept[index]!),
    );
  }
}

/** Keeps the reason, unless it quotes the person, and the hash of the messageId, which identifies repeats. */
async function redactRefusedCalls(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  refused: readonly RefusedAppCall[],
): Promise<RefusedCallRow[]> {
  const erased = await findErased(tx, secrets, entityId, () => refused.flatMap(({ people }) => people));
  const texts = refused.map(({ messageId, message, raw }) => [raw, message, messageId ?? ''].join('\n'));
  const named = await findErasedTexts(tx, secrets, entityId, texts, { byWords: true });
  const hashes = refused.map(({ people }, index) => {
    const person = people.find((each) => erased.has(personKey(each)));
    return person === undefined ? named.get(index) : erased.get(personKey(person))!;
  });
  const messages = refused.map(({ message }, index) => (hashes[index] === undefined ? '' : message));
  const quoting = await findErasedTexts(tx, secrets, entityId, messages, { byWords: true });
  const messageIds = refused.map(({ messageId }, index) => (hashes[index] === undefined ? '' : (messageId ?? '')));
  const naming = await findErasedTexts(tx, secrets, entityId, messageIds, { byWords: true });
  return refused.map(({ index: place, messageId, code, message, raw, people }, index): RefusedCallRow => {
    const customerHash = hashes[index];
    if (customerHash === undefined) return { index: place, messageId, code, message, raw, people };
    const hash = messageId === null || naming.has(index) ? null : messageHash(messageId);
    return {
      index: place,
      messageId: null,
      code,
      message: quoting.has(index) ? ERASED : message,
      raw: null,
      customerHash,
      messageHash: hash,
    };
  });
}

/** `raw` is null for an erased person. */
export type StoredRefusedCall = Row<
  'refused_calls',
  'id' | 'receivedAt' | 'index' | 'messageId' | 'message' | 'raw',
  { code: RefusalCode }
> & {
  micros: number;
  /** False if several apps share the key and the call names none of them. */
  isOfApp: boolean;
};

type RefusalFilter = { code?: RefusalCode | undefined; messageId?: string | undefined };

/** Lists the refused calls of an app, newest first, and those without an app if it shares its key. */
export async function listRefusedCalls(
  db: Queryable,
  entityId: number,
  appId: number,
  { code, messageId }: RefusalFilter,
  after: ListCursor | null,
  limit: number,
): Promise<StoredRefusedCall[]> {
  return readRows<StoredRefusedCall>(
    await db.query(
      `SELECT id, received_at, (extract(epoch FROM received_at) * 1000000)::bigint AS micros, app_id IS NOT NULL AS is_of_app,
       index, message_id, code, message, raw
     FROM refused_calls
     WHERE entity_id = $1 AND (app_id = $2 OR ${OF_NO_APP}) AND ($3::text IS NULL OR code = $3) AND ($4::text IS NULL OR message_id = $4)
       AND ($5::bigint IS NULL OR (received_at, id) < (timestamptz 'epoch' + $5 * interval '1 microsecond', $6))
     ORDER BY received_at DESC, id DESC LIMIT $7`,
      [entityId, appId, code ?? null, messageId ?? null, after?.micros ?? null, after?.id ?? null, limit],
    ),
  );
}

export type LiveCall = Row<
  'live_calls',
  'appId' | 'receivedAt' | 'code' | 'message' | 'messageId',
  {
    /** `failed`: a trait of an accepted call, shown as its value. `widened`: an attribute's key, now a String. */
    outcome: 'accepted' | 'duplicate' | 'refused' | 'failed' | 'widened';
    call: string;
  }
>;

export type StoredLiveCall = LiveCall & Row<'live_calls', 'id'>;

export const MAX_LIVE_CALLS = 100;

/** Inserts the last calls of an entity's apps, except those that name an erased person, and deletes older ones. */
export async function insertLiveCalls(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  calls: readonly (LiveCall & { people: Person[] })[],
): Promise<void> {
  const erased = await findErased(tx, secrets, entityId, () => calls.flatMap(({ people }) => people));
  const texts = calls.map(({ call, message, messageId }) => [call, message ?? '', messageId ?? ''].join('\n'));
  const named = await findErasedTexts(tx, secrets, entityId, texts, { byWords: true });
  const living = calls.filter(
    ({ people }, index) => !named.has(index) && !people.some((person) => erased.has(personKey(person))),
  );
  await tx.query(
    `INSERT INTO live_calls (entity_id, app_id, received_at, outcome, code, message, message_id, call, subjects)
     SELECT $1, app_id, received_at, outcome, code, message, message_id, call, ARRAY(SELECT json_array_elements_text(subjects::json))
     FROM unnest($2::integer[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
       AS given (app_id, received_at, outcome, code, message, message_id, call, subjects)`,
    [
      entityId,
      living.map(({ appId }) => appId),
      living.map(({ receivedAt }) => receivedAt),
      living.map(({ outcome }) => outcome),
      living.map(({ code }) => code),
      living.map(({ message }) => message),
      living.map(({ messageId }) => messageId),
      living.map(({ call }) => call),
      living.map(({ people }) => subjectsOf(people)),
    ],
  );
  for (const appId of new Set(living.map((call) => call.appId))) await deleteOlder(tx, entityId, appId);
}

/** Uses the index live_calls_of_app. */
async function deleteOlder(tx: Tx, entityId: number, appId: number | null): Promise<void> {
  const ofApp = `entity_id = $1 AND ${appId === null ? 'app_id IS NULL' : 'app_id = $2'}`;
  await tx.query(
    `DELETE FROM live_calls WHERE ${ofApp} AND id <= (
       SELECT id FROM live_calls WHERE ${ofApp} ORDER BY id DESC OFFSET ${MAX_LIVE_CALLS} LIMIT 1)`,
    appId === null ? [entityId] : [entityId, appId],
  );
}

/** Lists an app's calls with ids after `after`, newest first, and those without an app if it shares its key. */
export async function listLiveCalls(
  db: Queryable,
  entityId: number,
  appId: number,
  after: number,
): Promise<StoredLiveCall[]> {
  return readRows(
    await db.query(
      `SELECT id, app_id, received_at, outcome, code, message, message_id, call FROM live_calls
     WHERE entity_id = $1 AND (app_id = $2 OR ${OF_NO_APP}) AND id > $3 ORDER BY id DESC LIMIT ${MAX_LIVE_CALLS}`,
      [entityId, appId, after],
    ),
  );
}

/** Calls without an app concern all apps that share their key. */
const OF_NO_APP = `app_id IS NULL AND EXISTS (
  SELECT FROM app_api_keys k JOIN app_api_keys o ON o.entity_id = k.entity_id AND o.lookup = k.lookup
  WHERE k.entity_id = $1 AND k.app_id = $2 AND o.app_id <> $2)`;

/** The counts of a UTC day; `refusedOfNoApp` counts calls without an app, by a key that the app shares. */
export type DailyCallCounts = {
  date: string;
  accepted: number;
  duplicates: number;
  refused: number;
  refusedOfNoApp: number;
  /** When the last call of the app came; null on a day without any. */
  lastReceivedAt: Date | null;
};

/** Lists the counts of the last `days` days, today first, including days without calls. */
export async function listCallCounts(
  db: Queryable,
  entityId: number,
  appId: number,
  days: number,
): Promise<DailyCallCounts[]> {
  // Uses the primary key: a range of days of an entity.
  const { rows } = await db.query<DailyCallCounts>(
    `SELECT d::date AS date, coalesce(sum(b.accepted) FILTER (WHERE b.app_id = $2), 0)::bigint AS accepted,
       coalesce(sum(b.duplicates) FILTER (WHERE b.app_id = $2), 0)::bigint AS duplicates,
       coalesce(sum(b.refused) FILTER (WHERE b.app_id = $2), 0)::bigint AS refused,
       coalesce(sum(b.refused) FILTER (WHERE b.app_id IS NULL), 0)::bigint AS "refusedOfNoApp",
       max(b.received_at) FILTER (WHERE b.app_id = $2) AS "lastReceivedAt"
     FROM generate_series(date_trunc('day', now(), 'UTC') - ($3 - 1) * interval '1 day', now(), interval '1 day') AS d
     LEFT JOIN ingested_batches b ON b.entity_id = $1 AND b.received_at >= d AND b.received_at < d + interval '1 day'
       AND (b.app_id = $2 OR b.${OF_NO_APP})
     GROUP BY d ORDER BY d DESC`,
    [entityId, appId, days],
  );
  return rows;
}

export type AppCallCounts = { appId: number | null; accepted: number; duplicates: number; refused: number };

/** Inserts the counts of a transaction and of its days in one statement, which saves a round trip. */
export async function insertCallCounts(
  tx: Tx,
  entityId: number,
  batches: readonly AppCallCounts[],
  counts: readonly DayCount[] = [],
): Promise<void> {
  if (batches.length === 0) return;
  await tx.query({
    name: 'insert-ingested-batches',
    text: `WITH counted AS (
             INSERT INTO tracked_counts (entity_id, app_id, day, events, sessions, locations)
             SELECT $1, app_id, 'epoch'::date + day, events, sessions, locations
             FROM unnest($6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::integer[])
               AS given (app_id, day, events, sessions, locations))
           INSERT INTO ingested_batches (entity_id, app_id, accepted, duplicates, refused)
           SELECT $1, given.* FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[]) AS given`,
    values: [
      entityId,
      batches.map(({ appId }) => appId),
      batches.map(({ accepted }) => accepted),
      batches.map(({ duplicates }) => duplicates),
      batches.map(({ refused }) => refused),
      counts.map(({ appId }) => appId),
      counts.map(({ day }) => day),
      counts.map(({ events }) => events),
      counts.map(({ sessions }) => sessions),
      counts.map(({ locations }) => locations),
    ],
  });
}
