import type { TrackedContext } from '../../domain/tracking/tracked-call.ts';
import type { Tx } from '../core/database.ts';
import {
  firstOf,
  type IngestedCall,
  lastOf,
  type PlacedSession,
  type PlacedSubject,
  type SubjectCalls,
  timestamp,
} from './ingested-call.ts';
import type { SessionRow } from './session-heads.ts';

/** Where sessions of a subject begin: milliseconds, both inclusive. `ordinal` is the caller's. */
export type Reach = Pick<SubjectCalls, 'appId' | 'subject'> & { ordinal: number; from: number; to: number };

/** Whole seconds in the foreground. */
export const foregroundSeconds = (alias: string): string =>
  `greatest(floor(extract(epoch FROM ${alias}.ended_at - ${alias}.started_at))::bigint - ${alias}.background_seconds, 0)`;

/** What a session takes over of the first of its calls that tells of it. */
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
} as const satisfies Record<string, keyof TrackedContext>;

const COLUMNS = Object.keys(CONTEXT) as (keyof typeof CONTEXT)[];

/** In the order of time. */
export async function listSessionsWithin(tx: Tx, entityId: number, reaches: Reach[]): Promise<SessionRow[]> {
  // By the bounds of all, months are left out before any is opened; then each is looked up in sessions_by_subject.
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

/** Ids for so many sessions. */
export async function drawSessionIds(tx: Tx, count: number): Promise<number[]> {
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
 * Inserts those sessions that calls began, extends the others, and has the heads of these subjects, which are locked,
 * tell of their latest. Returns the extended ones that are there no more. Of an extended one a column that was empty is
 * filled; its user is the last one seen. In one statement: between two of them the session waits for this process.
 */
export async function upsertSessions(
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
  const { rows } = await tx.query<{ id: number }>({
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
    // No call of another batch came after these.
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

function contextOf(calls: IngestedCall[]): Partial<Record<keyof typeof CONTEXT, string>> {
  const told: Partial<Record<keyof typeof CONTEXT, string>> = {};
  for (const column of COLUMNS) {
    const value = firstOf(calls, ({ context }) => context[CONTEXT[column]]);
    if (value !== null) told[column] = value;
  }
  return told;
}
