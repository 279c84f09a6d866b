/** Who joined and left segments, their counts by day, and the members of a snapshot in pages. */

import { MAX_LISTED_CHANGES } from '../../domain/analytics/segment-changes.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { listErasedPeople, type MemberChanges } from './segment-members.ts';

type Changed = { segmentId: number; at: Date };

/**
 * Counts the changes of a segment's people on their day, and lists them up to the day's bound, without erased people.
 * Call it in the transaction that changes the members.
 */
export async function insertChanges(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  { segmentId, at }: Changed,
  { joined, left, joinedCount, leftCount }: MemberChanges,
): Promise<void> {
  if (joinedCount + leftCount === 0) return;
  const { rows } = await tx.query<{ free: number }>(
    `INSERT INTO segment_days AS d (entity_id, segment_id, day, people_joined, people_left)
     VALUES ($1, $2, ($3::timestamptz AT TIME ZONE 'UTC')::date, $4, $5)
     ON CONFLICT (entity_id, segment_id, day) DO UPDATE
       SET people_joined = d.people_joined + excluded.people_joined, people_left = d.people_left + excluded.people_left
     RETURNING ${MAX_LISTED_CHANGES} - changes_listed AS free`,
    [entityId, segmentId, at, joinedCount, leftCount],
  );
  const erased = left.length === 0 ? new Set() : await listErasedPeople(tx, secrets, entityId, left);
  const listed = [
    ...joined.map((person) => ({ person, hasJoined: true })),
    ...left.filter((person) => !erased.has(person)).map((person) => ({ person, hasJoined: false })),
  ].slice(0, rows[0]!.free);
  if (listed.length === 0) return;
  await tx.query(
    `WITH added AS (INSERT INTO segment_changes (entity_id, segment_id, changed_at, person, has_joined)
       SELECT $1, $2, $3, c.* FROM unnest($4::text[], $5::boolean[]) AS c RETURNING 1)
     UPDATE segment_days SET changes_listed = changes_listed + (SELECT count(*) FROM added)
     WHERE entity_id = $1 AND segment_id = $2 AND day = ($3::timestamptz AT TIME ZONE 'UTC')::date`,
    [entityId, segmentId, at, listed.map(({ person }) => person), listed.map(({ hasJoined }) => hasJoined)],
  );
}

/** Keeps the number of people of a snapshot with its day. */
export async function updatePeopleOfDay(
  tx: Queryable,
  entityId: number,
  { segmentId, at }: Changed,
  people: number,
): Promise<void> {
  await tx.query(
    `INSERT INTO segment_days (entity_id, segment_id, day, people) VALUES ($1, $2, ($3::timestamptz AT TIME ZONE 'UTC')::date, $4)
     ON CONFLICT (entity_id, segment_id, day) DO UPDATE SET people = excluded.people`,
    [entityId, segmentId, at, people],
  );
}

/** Deletes the members of segments, and who joined and left; the next refresh begins anew. */
export async function deletePeopleOfSegments(tx: Queryable, entityId: number, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  for (const table of ['segment_members', 'segment_changes', 'segment_days'])
    await tx.query(`DELETE FROM ${table} WHERE entity_id = $1 AND segment_id = ANY ($2::integer[])`, [entityId, ids]);
  await tx.query(
    `UPDATE segments SET snapshot_at = NULL, generation = generation + 1, refresh_begun_at = NULL, refresh_wanted_at = now()
     WHERE entity_id = $1 AND id = ANY ($2::integer[])`,
    [entityId, ids],
  );
}

export type SegmentDay = Row<'segment_days', 'people' | 'peopleJoined' | 'peopleLeft' | 'changesListed'> & {
  day: string;
};

/** Lists the last days that have something, oldest first. Uses the primary key. */
export async function listSegmentDays(
  db: Queryable,
  entityId: number,
  segmentId: number,
  from: Date,
): Promise<SegmentDay[]> {
  return readRows<SegmentDay>(
    await db.query(
      `SELECT to_char(day, 'YYYY-MM-DD') AS day, people, people_joined, people_left, changes_listed FROM segment_days
       WHERE entity_id = $1 AND segment_id = $2 AND day >= ($3::timestamptz AT TIME ZONE 'UTC')::date ORDER BY segment_days.day`,
      [entityId, segmentId, from],
    ),
  );
}

export type SegmentChange = Row<'segment_changes', 'id' | 'changedAt' | 'person' | 'hasJoined'>;

/** Lists changes, newest first, from before an id. Uses the primary key. */
export async function listChanges(
  db: Queryable,
  entityId: number,
  segmentId: number,
  { before, joined, limit }: { before: number | null; joined: boolean | null; limit: number },
): Promise<SegmentChange[]> {
  return readRows<SegmentChange>(
    await db.query(
      `SELECT id, changed_at, person, has_joined FROM segment_changes
       WHERE entity_id = $1 AND segment_id = $2 AND ($3::bigint IS NULL OR id < $3) AND ($4::boolean IS NULL OR has_joined = $4)
       ORDER BY id DESC LIMIT $5`,
      [entityId, segmentId, before, joined, limit],
    ),
  );
}

/** Lists members in the order of the primary key, from after one. */
export async function listMembers(
  db: Queryable,
  entityId: number,
  segmentId: number,
  { after, limit }: { after: string | null; limit: number },
): Promise<string[]> {
  const { rows } = await db.query<Row<'segment_members', 'person'>>(
    `SELECT person FROM segment_members WHERE entity_id = $1 AND segment_id = $2 AND person > coalesce($3::text, '') COLLATE "C"
     ORDER BY person LIMIT $4`,
    [entityId, segmentId, after, limit],
  );
  return rows.map(({ person }) => person);
}
