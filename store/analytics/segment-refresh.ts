/** Refreshes of segments: claims due ones, finds their people, and ends them. */

import { readRow, type Row } from '../core/camel-row.ts';
import { cursorRows } from '../core/cursor-rows.ts';
import type { Database, Queryable, Tx } from '../core/database.ts';
import type { SegmentCounts } from './segment-counts.ts';
import { segmentSettings, type SegmentQuery, segmentSql } from './segment-sql.ts';

/** A refresh under way. `wantedAt` is as Postgres writes it, so that no digit is lost. */
export type RefreshClaim = Row<'segments', 'id' | 'generation'> & { wantedAt: string };

export const REFRESH_TIMEOUT_MS = 300_000;
const REFRESH_EVERY = `interval '1 hour'`;
const RETRY_AFTER = `interval '5 minutes'`;

/** Begins a due segment's refresh, after those that it names, and last if its last refresh ended with its process. */
export async function claimDueSegment(db: Queryable, entityId: number): Promise<RefreshClaim | null> {
  return readRow<RefreshClaim>(
    await db.query(
      `UPDATE segments SET generation = generation + 1, refresh_begun_at = now() WHERE entity_id = $1 AND id = (
       SELECT s.id FROM segments s WHERE s.entity_id = $1 AND s.refresh_wanted_at <= now() AND NOT EXISTS (
         SELECT FROM segment_uses u JOIN segments o ON o.entity_id = u.entity_id AND o.id = u.used_segment_id
         WHERE u.entity_id = $1 AND u.segment_id = s.id AND o.refresh_wanted_at <= now())
       ORDER BY s.refresh_begun_at NULLS FIRST, s.refresh_wanted_at, s.id LIMIT 1)
     RETURNING id, generation, refresh_wanted_at::text AS wanted_at`,
      [entityId],
    ),
  );
}

export async function* listPeople(
  db: Database,
  entityId: number,
  query: SegmentQuery,
  portion: number,
): AsyncGenerator<string[]> {
  const { with: tables, members, values } = segmentSql(query);
  const text = `WITH ${tables} SELECT person FROM (${members}) members ORDER BY person COLLATE "C"`;
  let people: string[] = [];
  const settings = segmentSettings(REFRESH_TIMEOUT_MS);
  for await (const { person } of cursorRows<{ person: string }>(db, text, [entityId, ...values], settings)) {
    people.push(person);
    if (people.length < portion) continue;
    yield people;
    people = [];
  }
  if (people.length > 0) yield people;
}

/** Locks the segment. Returns false if another refresh has begun, or the filters have changed. */
export async function lockRefresh(tx: Tx, entityId: number, { id, generation }: RefreshClaim): Promise<boolean> {
  const { rowCount } = await tx.query(
    'SELECT FROM segments WHERE entity_id = $1 AND id = $2 AND generation = $3 FOR NO KEY UPDATE',
    [entityId, id, generation],
  );
  return rowCount === 1;
}

/** Ends a locked refresh. Changes since its start make the next one due at once. */
export async function endRefresh(
  tx: Tx,
  entityId: number,
  { id, wantedAt }: RefreshClaim,
  counts: SegmentCounts,
  snapshotAt: Date,
): Promise<void> {
  await tx.query(
    `UPDATE segments SET snapshot_at = $4, failure = NULL, refresh_begun_at = NULL, people_count = $5, people_total = $6,
       people_push = $7, reach_count = $8, reach_optin = $9, reach_token = $10, reach_total = $11,
       refresh_wanted_at = CASE WHEN refresh_wanted_at = $3::timestamptz THEN now() + ${REFRESH_EVERY} ELSE refresh_wanted_at END
     WHERE entity_id = $1 AND id = $2`,
    [
      entityId,
      id,
      wantedAt,
      snapshotAt,
      counts.peopleCount,
      counts.peopleTotal,
      counts.peoplePush,
      counts.reachCount,
      counts.reachOptin,
      counts.reachToken,
      counts.reachTotal,
    ],
  );
}

/** Ends a refresh without a snapshot. An older snapshot stays, and the refresh is tried again later. */
export async function failRefresh(
  db: Queryable,
  entityId: number,
  { id, generation }: RefreshClaim,
  failure: string,
): Promise<void> {
  await db.query(
    `UPDATE segments SET failure = $4, refresh_begun_at = NULL, refresh_wanted_at = now() + ${RETRY_AFTER}
     WHERE entity_id = $1 AND id = $2 AND generation = $3`,
    [entityId, id, generation, failure],
  );
}
