import type { Tx } from './database.ts';
import { type PlacedSubject, type SubjectCalls, timestamp } from './ingested-call.ts';
import type { SessionWindow } from '../domain/session-windows.ts';

export type SessionRow = { place: number; id: number; started_at: Date; ended_at: Date; backgrounded_at: Date | null };

/** Stands for the first session of a subject, which is still to be made. */
const NO_SESSION = 0;

/**
 * The latest session of each subject, in their order. Until the transaction ends nobody else changes these subjects'
 * sessions or devices. All are locked in the order of the key by one statement: a conflict locks the row, also where it
 * then updates nothing.
 */
export async function lockSessionHeads(tx: Tx, entityId: number, subjects: SubjectCalls[]): Promise<(SessionWindow | null)[]> {
  const values = [entityId, subjects.map(({ appId }) => appId), subjects.map(({ subject }) => subject)];
  await tx.query({
    name: 'lock-session-heads', values,
    text: `INSERT INTO session_heads (entity_id, app_id, subject, session_id, started_at, ended_at)
           SELECT $1, app_id, subject, ${NO_SESSION}, 'epoch', 'epoch' FROM unnest($2::integer[], $3::text[]) AS given (app_id, subject)
           ORDER BY app_id, subject COLLATE "C"
           ON CONFLICT (entity_id, app_id, subject) DO UPDATE SET session_id = excluded.session_id WHERE false`,
  });
  const { rows } = await tx.query<SessionRow>({
    name: 'find-session-heads', values,
    text: `SELECT g.place, h.session_id AS id, h.started_at, h.ended_at, h.backgrounded_at
           FROM (SELECT $1::integer AS entity_id, app_id, subject COLLATE "C" AS subject, place
             FROM unnest($2::integer[], $3::text[]) WITH ORDINALITY AS given (app_id, subject, place) OFFSET 0) g
           JOIN session_heads h ON h.entity_id = g.entity_id AND h.app_id = g.app_id AND h.subject = g.subject`,
  });
  const heads: (SessionWindow | null)[] = subjects.map(() => null);
  for (const row of rows) if (row.id !== NO_SESSION) heads[row.place - 1] = toWindow(row);
  return heads;
}

export function toWindow(row: SessionRow): SessionWindow {
  return {
    id: row.id, startedAt: row.started_at.getTime(), endedAt: row.ended_at.getTime(),
    backgroundedAt: row.backgrounded_at?.getTime() ?? null, backgroundSeconds: 0,
  };
}

/** Of subjects whose heads are locked. */
export async function updateSessionHeads(tx: Tx, entityId: number, subjects: PlacedSubject[]): Promise<void> {
  const latest = subjects.map((subject) => subject.latest);
  await tx.query({
    name: 'update-session-heads',
    text: `UPDATE session_heads h
           SET session_id = g.session_id, started_at = g.started_at, ended_at = g.ended_at, backgrounded_at = g.backgrounded_at
           FROM (SELECT $1::integer AS entity_id, app_id, subject COLLATE "C" AS subject, session_id, started_at, ended_at, backgrounded_at
             FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[])
               AS given (app_id, subject, session_id, started_at, ended_at, backgrounded_at) OFFSET 0) g
           WHERE h.entity_id = g.entity_id AND h.app_id = g.app_id AND h.subject = g.subject`,
    values: [entityId, subjects.map(({ appId }) => appId), subjects.map(({ subject }) => subject), latest.map(({ id }) => id),
      latest.map(({ startedAt }) => timestamp(startedAt)), latest.map(({ endedAt }) => timestamp(endedAt)),
      latest.map(({ backgroundedAt }) => backgroundedAt === null ? null : timestamp(backgroundedAt))],
  });
}
