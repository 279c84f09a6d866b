import type { Queryable } from '../core/database.ts';

/** Entities whose feed waits for a slot of its worker. */

export async function upsertFeedWait(db: Queryable, entityId: number): Promise<void> {
  await db.query(
    'INSERT INTO feed_waits (entity_id) SELECT id FROM entities WHERE id = $1 ON CONFLICT (entity_id) DO NOTHING',
    [entityId],
  );
}

export async function deleteFeedWait(db: Queryable, entityId: number): Promise<void> {
  await db.query('DELETE FROM feed_waits WHERE entity_id = $1', [entityId]);
}

export async function hasFeedWait(db: Queryable, entityId: number): Promise<boolean> {
  return (await db.query('SELECT FROM feed_waits WHERE entity_id = $1', [entityId])).rowCount === 1;
}
