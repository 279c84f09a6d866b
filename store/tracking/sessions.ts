/** Sessions: puts calls into sessions under the lock of each subject's latest one (`session_heads`). */

import type { CallContext } from '../../domain/tracking/call.ts';
import { placeCalls, reachOf, type SessionWindow } from '../../domain/tracking/session-windows.ts';
import type { Row } from '../core/camel-row.ts';
import type { Tx } from '../core/database.ts';
import {
  type AppCall,
  type PlacedSession,
  type PlacedSubject,
  type SessionsOfCalls,
  type SubjectCalls,
  timestamp,
} from './app-call.ts';

/** The range in which sessions of a subject begin, in ms, both ends included; `ordinal` is the caller's. */
type Reach = Pick<SubjectCalls, 'appId' | 'subject'> & { ordinal: number; from: number; to: number };

/** SQL for a session's whole seconds in the foreground. */
export const foregroundSeconds = (alias: string): string =>
  `greatest(floor(extract(epoch FROM ${alias}.ended_at - ${alias}.started_at))::bigint - ${alias}.background_seconds, 0)`;

const CONTEXT = {
  app_version: 'appVersion',
  sdk_version: 'sdkVersion',
  os_version: 'osVersion',
  device_type: 'deviceType',
  device_model: 'deviceModel',
  idiom: 'idiom',
  country: 'country',
  lang: 'lang',
  carrier: 'carrier',
} as const satisfies Record<string, keyof CallContext>;

const COLUMNS = Object.keys(CONTEXT) as (keyof typeof CONTEXT)[];

async function listSessionsWithin(tx: Tx, entityId: number, reaches: Reach[]): Promise<SessionRow[]> {
  // The outer bounds leave out months before any is opened; then each range uses sessions_by_subject.
  const { rows } = await tx.query<SessionRow>(
    `SELECT g.ordinal, s.id, s.started_at, s.ended_at, NULL AS backgrounded_at
     FROM (SELECT $1::integer AS entity_id, * FROM unnest($2::integer[], $3::integer[], $4::text[], $5::timestamptz[], $6::timestamptz[])
       AS given (ordinal, app_id, subject, earliest, latest) OFFSET 0) g
     JOIN sessions s ON s.entity_id = g.entity_id AND s.app_id = g.app_id AND s.subject = g.subject COLLATE "C"
       AND s.started_at BETWEEN g.earliest AND g.latest
     WHERE s.started_at BETWEEN $7 AND $8 ORDER BY s.started_at`,
    [
      entityId,
      reaches.map(({ ordinal }) => ordinal),
      reaches.map(({ appId }) => appId),
      reaches.map(({ subject }) => subject),
      reaches.map(({ from }) => timestamp(from)),
      reaches.map(({ to }) => timestamp(to)),
      timestamp(reaches.reduce((least, { from }) => Math.min(least, from), Infinity)),
      timestamp(reaches.reduce((most, { to }) => Math.max(most, to), -Infinity)),
    ],
  );
  return rows;
}

async function drawSessionIds(tx: Tx, count: number): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(`SELECT nextval('session_ids') AS id FROM generate_series(1, $1)`, [
    count,
  ]);
  return rows.map(({ id }) => id);
}

const TOLD = `started_at timestamptz, ended_at timestamptz, id bigint, background_seconds integer, timeout integer, utc_offset smallint,
  user_id text, ${COLUMNS.map((column) => `${column} text`).join(', ')}`;

const EXTEND = `UPDATE sessions s SET started_at = g.started_at, ended_at = g.ended_at, received_at = now(), timeout = g.timeout,
    background_seconds = s.background_seconds + g.background_seconds, utc_offset = coalesce(s.utc_offset, g.utc_offset),
    user_id = CASE WHEN g.is_latest THEN coalesce(g.user_id, s.user_id) ELSE coalesce(s.user_id, g.user_id) END,
    ${COLUMNS.map((column) => `${column} = coalesce(s.${column}, g.${column})`).join(', ')}
  FROM (SELECT $1::integer AS entity_id, * FROM json_to_recordset($2)
    AS given (app_id integer, found_at timestamptz, is_latest boolean, ${TOLD}) OFFSET 0) g
  WHERE s.entity_id = g.entity_id AND s.app_id = g.app_id AND s.started_at = g.found_at AND s.id = g.id
  RETURNING s.id`;

const BEGIN = `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, id, background_seconds, timeout, utc_offset, subject,
    device_id, user_id, ${COLUMNS.join(', ')})
  SELECT $1, app_id, started_at, ended_at, id, background_seconds, timeout, utc_offset, subject, device_id, user_id, ${COLUMNS.join(', ')}
  FROM json_to_recordset($3) AS given (app_id integer, subject text, device_id text, ${TOLD})`;

const LEAD = `UPDATE session_heads h
  SET session_id = g.session_id, started_at = g.started_at, ended_at = g.ended_at, backgrounded_at = g.backgrounded_at
  FROM (SELECT $1::integer AS entity_id, app_id, subject COLLATE "C" AS subject, session_id, started_at, ended_at, backgrounded_at
    FROM unnest($4::integer[], $5::text[], $6::bigint[], $7::timestamptz[], $8::timestamptz[], $9::timestamptz[])
      AS given (app_id, subject, session_id, started_at, ended_at, backgrounded_at) OFFSET 0) g
  WHERE h.entity_id = g.entity_id AND h.app_id = g.app_id AND h.subject = g.subject`;

/**
 * Inserts new sessions, extends others, and updates the locked heads. Returns extended ones that no longer exist.
 * Extending fills empty columns; the user is the last one seen. One statement: between two the session waits for us.
 */
async function upsertSessions(
  tx: Tx,
  entityId: number,
  placed: PlacedSession[],
  subjects: PlacedSubject[],
): Promise<PlacedSession[]> {
  const [begun, extended] = [
    placed.filter(({ foundAt }) => foundAt === null),
    placed.filter(({ foundAt }) => foundAt !== null),
  ];
  const latest = subjects.map((subject) => subject.latest);
  const { rows } = await tx.query<Row<'sessions', 'id'>>({
    name: 'upsert-sessions',
    text: `WITH extended AS (${EXTEND}), begun AS (${BEGIN}), led AS (${LEAD}) SELECT id FROM extended`,
    values: [
      entityId,
      JSON.stringify(extended.map(toExtension)),
      JSON.stringify(begun.map(toRow)),
      subjects.map(({ appId }) => appId),
      subjects.map(({ subject }) => subject),
      latest.map(({ id }) => id),
      latest.map(({ startedAt }) => timestamp(startedAt)),
      latest.map(({ endedAt }) => timestamp(endedAt)),
      latest.map(({ backgroundedAt }) => (backgroundedAt === null ? null : timestamp(backgroundedAt))),
    ],
  });
  if (rows.length === extended.length) return [];
  const updated = new Set(rows.map(({ id }) => id));
  return extended.filter(({ session }) => !updated.has(session.id!));
}

function toExtension(placed: PlacedSession) {
  return {
    ...toRow(placed),
    found_at: timestamp(placed.foundAt!),
    // No other batch has a later call.
    is_latest: placed.calls.at(-1)!.happenedAt === placed.session.endedAt,
  };
}

function toRow({ subject, session, calls }: PlacedSession) {
  return {
    app_id: subject.appId,
    started_at: timestamp(session.startedAt),
    ended_at: timestamp(session.endedAt),
    id: session.id,
    background_seconds: session.backgroundSeconds,
    timeout: calls[0]!.sessionTimeout,
    utc_offset: firstOf(calls, ({ context }) => context.utcOffset),
    subject: subject.subject,
    device_id: subject.deviceId,
    user_id: lastOf(calls, ({ userId }) => userId),
    ...contextOf(calls),
  };
}

function contextOf(calls: AppCall[]): Partial<Record<keyof typeof CONTEXT, string>> {
  const values: Partial<Record<keyof typeof CONTEXT, string>> = {};
  for (const column of COLUMNS) {
    const value = firstOf(calls, ({ context }) => context[CONTEXT[column]]);
    if (value !== null) values[column] = value;
  }
  return values;
}

type SessionRow = {
  ordinal: number;
  id: number;
  started_at: Date;
  ended_at: Date;
  backgrounded_at: Date | null;
};

type SessionHead = { latest: SessionWindow | null; freshId: number };

type HeadRow = { ordinal: number; fresh_id: number; added: number } & (Omit<SessionRow, 'ordinal'> | { id: null });

/** Stands for a subject's first session, which is not inserted yet. */
const NO_SESSION = 0;

/**
 * Locks the subjects' heads until the transaction ends, and so their sessions and devices; returns them in order. The
 * upsert locks all heads in order of the key, even if it updates nothing. FOR NO KEY UPDATE then reads each as it is
 * after the lock, not as it was when the statement began.
 */
async function lockSessionHeads(tx: Tx, entityId: number, subjects: SubjectCalls[]): Promise<SessionHead[]> {
  const { rows } = await tx.query<HeadRow>({
    name: 'lock-session-heads',
    text: `WITH given AS MATERIALIZED (
             SELECT app_id, subject COLLATE "C" AS subject, ordinal, nextval('session_ids') AS fresh_id
             FROM unnest($2::integer[], $3::text[]) WITH ORDINALITY AS asked (app_id, subject, ordinal)
           ), added AS (
             INSERT INTO session_heads (entity_id, app_id, subject, session_id, started_at, ended_at)
             SELECT $1, app_id, subject, ${NO_SESSION}, 'epoch', 'epoch' FROM given ORDER BY app_id, subject
             ON CONFLICT (entity_id, app_id, subject) DO UPDATE SET session_id = excluded.session_id WHERE false
             RETURNING 1
           ), counted AS MATERIALIZED (SELECT count(*) AS added FROM added)
           SELECT g.ordinal, g.fresh_id, c.added, h.* FROM counted c CROSS JOIN given g
           LEFT JOIN LATERAL (
             SELECT session_id AS id, started_at, ended_at, backgrounded_at FROM session_heads
             WHERE c.added >= 0 AND entity_id = $1 AND app_id = g.app_id AND subject = g.subject FOR NO KEY UPDATE) h ON true`,
    values: [entityId, subjects.map(({ appId }) => appId), subjects.map(({ subject }) => subject)],
  });
  const heads: SessionHead[] = subjects.map(() => ({ latest: null, freshId: NO_SESSION }));
  const unread: number[] = [];
  for (const row of rows) {
    heads[row.ordinal - 1] = {
      latest: row.id === null || row.id === NO_SESSION ? null : toWindow(row),
      freshId: row.fresh_id,
    };
    if (row.id === null) unread.push(row.ordinal - 1);
  }
  // Others inserted these after this statement began, so it does not see them.
  if (unread.length > (rows[0]?.added ?? 0)) await readAdded(tx, entityId, subjects, unread, heads);
  return heads;
}

async function readAdded(
  tx: Tx,
  entityId: number,
  subjects: SubjectCalls[],
  unread: number[],
  heads: SessionHead[],
): Promise<void> {
  const { rows } = await tx.query<SessionRow>({
    name: 'find-session-heads',
    text: `SELECT g.ordinal, h.session_id AS id, h.started_at, h.ended_at, h.backgrounded_at
           FROM (SELECT $1::integer AS entity_id, app_id, subject COLLATE "C" AS subject, ordinal
             FROM unnest($2::integer[], $3::text[], $4::integer[]) AS given (app_id, subject, ordinal) OFFSET 0) g
           JOIN session_heads h ON h.entity_id = g.entity_id AND h.app_id = g.app_id AND h.subject = g.subject`,
    values: [
      entityId,
      unread.map((ordinal) => subjects[ordinal]!.appId),
      unread.map((ordinal) => subjects[ordinal]!.subject),
      unread,
    ],
  });
  for (const row of rows) if (row.id !== NO_SESSION) heads[row.ordinal]!.latest = toWindow(row);
}

function toWindow(row: Omit<SessionRow, 'ordinal'>): SessionWindow {
  return {
    id: row.id,
    startedAt: row.started_at.getTime(),
    endedAt: row.ended_at.getTime(),
    backgroundedAt: row.backgrounded_at?.getTime() ?? null,
    backgroundSeconds: 0,
  };
}

/** Puts each call into a session. Locks heads, and so sessions and devices, until the transaction ends. */
export async function placeInSessions(
  tx: Tx,
  entityId: number,
  subjects: SubjectCalls[],
): Promise<{ subjects: PlacedSubject[]; sessions: SessionsOfCalls }> {
  const heads = await lockSessionHeads(tx, entityId, subjects);
  const known = await findKnown(
    tx,
    entityId,
    subjects,
    heads.map(({ latest }) => latest),
  );
  const placedSubjects = subjects.map((subject, at) => placeSubject(subject, known[at]!));
  await giveIds(tx, placedSubjects, heads);
  const placed = placedSubjects.flatMap((subject) => subject.placed);
  const gone = await upsertSessions(tx, entityId, placed, placedSubjects);
  if (gone.length > 0) await beginAnew(tx, entityId, gone, placedSubjects);
  const sessions = new Map<AppCall, SessionWindow>();
  for (const { session, calls } of placed) for (const call of calls) sessions.set(call, session);
  return { subjects: placedSubjects, sessions };
}

/** Gives ids to new sessions. Hardly any subject begins more than one in a batch. */
async function giveIds(tx: Tx, subjects: PlacedSubject[], heads: SessionHead[]): Promise<void> {
  const without: SessionWindow[] = [];
  for (const [at, { placed }] of subjects.entries()) {
    const [first, ...others] = placed.filter(({ foundAt }) => foundAt === null);
    if (first) first.session.id = heads[at]!.freshId;
    without.push(...others.map(({ session }) => session));
  }
  if (without.length === 0) return;
  const ids = await drawSessionIds(tx, without.length);
  for (const [at, session] of without.entries()) session.id = ids[at]!;
}

async function beginAnew(tx: Tx, entityId: number, gone: PlacedSession[], subjects: PlacedSubject[]): Promise<void> {
  const ids = await drawSessionIds(tx, gone.length);
  for (const [at, placed] of gone.entries()) {
    placed.foundAt = null;
    const [startedAt, endedAt] = [placed.calls[0]!.happenedAt, placed.calls.at(-1)!.happenedAt];
    Object.assign(placed.session, { id: ids[at]!, startedAt, endedAt, backgroundSeconds: 0 });
  }
  await upsertSessions(
    tx,
    entityId,
    gone,
    subjects.filter(({ placed }) => placed.some((each) => gone.includes(each))),
  );
}

/** Returns the sessions that each subject's calls may fall into: its latest, and those around earlier calls. */
async function findKnown(
  tx: Tx,
  entityId: number,
  subjects: SubjectCalls[],
  heads: (SessionWindow | null)[],
): Promise<SessionWindow[][]> {
  const known = heads.map((head) => (head === null ? [] : [head]));
  const reaches = subjects.flatMap((subject, ordinal) => {
    const head = heads[ordinal]!;
    return head === null ? [] : reachesBefore(subject, head, ordinal);
  });
  if (reaches.length === 0) return known;
  for (const row of await listSessionsWithin(tx, entityId, reaches)) {
    // The latest is at the end already, with all that its head has.
    if (row.id !== heads[row.ordinal]!.id) known[row.ordinal]!.splice(-1, 0, toWindow(row));
  }
  return known;
}

/** Returns ranges in which sessions of calls before the latest session begin; merges overlapping ones. */
function reachesBefore({ appId, subject, calls }: SubjectCalls, head: SessionWindow, ordinal: number): Reach[] {
  const reaches: Reach[] = [];
  for (const { happenedAt, sessionTimeout } of calls) {
    if (happenedAt >= head.startedAt) break;
    const { from, to } = reachOf(happenedAt, sessionTimeout);
    const last = reaches.at(-1);
    if (last && from <= last.to) last.to = to;
    else reaches.push({ appId, subject, ordinal, from, to });
  }
  return reaches;
}

function placeSubject(subject: SubjectCalls, known: SessionWindow[]): PlacedSubject {
  const timed = subject.calls.map(({ happenedAt, event }) => ({ happenedAt, transition: event?.transition ?? null }));
  const { sessions, ofCalls } = placeCalls(known, timed, subject.calls[0]!.sessionTimeout);
  const foundAt = new Map(known.map(({ id, startedAt }) => [id, startedAt]));
  const bySession = new Map<SessionWindow, PlacedSession>();
  for (const [at, session] of ofCalls.entries()) {
    const call = subject.calls[at]!;
    const placed = bySession.get(session);
    if (placed) placed.calls.push(call);
    else bySession.set(session, { subject, session, foundAt: foundAt.get(session.id) ?? null, calls: [call] });
  }
  return { ...subject, latest: sessions.at(-1)!, placed: [...bySession.values()] };
}

function lastOf<T>(calls: readonly AppCall[], read: (call: AppCall) => T | null): T | null {
  for (let at = calls.length - 1; at >= 0; at -= 1) {
    const value = read(calls[at]!);
    if (value !== null) return value;
  }
  return null;
}

function firstOf<T>(calls: readonly AppCall[], read: (call: AppCall) => T | null): T | null {
  for (const call of calls) {
    const value = read(call);
    if (value !== null) return value;
  }
  return null;
}
