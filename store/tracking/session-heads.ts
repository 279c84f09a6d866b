import type { SessionWindow } from '../../domain/tracking/session-windows.ts';
import type { Tx } from '../core/database.ts';
import type { SubjectCalls } from './ingested-call.ts';

export type SessionRow = {
  ordinal: number;
  id: number;
  started_at: Date;
  ended_at: Date;
  backgrounded_at: Date | null;
};

/** A subject's latest session, null before its first, and an id that a session may have which it begins. */
export type SessionHead = { latest: SessionWindow | null; freshId: number };

type HeadRow = { ordinal: number; fresh_id: number; added: number } & (Omit<SessionRow, 'ordinal'> | { id: null });

/** Stands for the first session of a subject, which is still to be made. */
const NO_SESSION = 0;

/**
 * The latest session of each subject, in their order. Until the transaction ends nobody else changes these subjects'
 * sessions or devices. All are locked in the order of the key before any is read: a conflict locks the row, also where
 * it then updates nothing. FOR NO KEY UPDATE reads each as it is by then, and not as it was when the statement began.
 */
export async function lockSessionHeads(tx: Tx, entityId: number, subjects: SubjectCalls[]): Promise<SessionHead[]> {
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
  // More than were added: others added them after this statement began, so that it does not see them.
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

export function toWindow(row: Omit<SessionRow, 'ordinal'>): SessionWindow {
  return {
    id: row.id,
    startedAt: row.started_at.getTime(),
    endedAt: row.ended_at.getTime(),
    backgroundedAt: row.backgrounded_at?.getTime() ?? null,
    backgroundSeconds: 0,
  };
}
