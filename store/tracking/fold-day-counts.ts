import { type Database, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { lockPartitions } from './event-partitions.ts';

/** Maximum number of rows that a transaction folds. */
const BATCH = 10_000;

/**
 * Folds the rows that transactions added into one row for each app and day, the oldest first. One statement deletes and
 * inserts, so a total always finds one of both. Locks partitions: rows of a dropped partition must not be folded.
 */
export async function foldDayCounts(db: Database, isTimeLeft: () => boolean, batch = BATCH): Promise<void> {
  while (isTimeLeft()) {
    const folded = await write(
      db,
      async (tx) => {
        await lockPartitions(tx);
        return (await tx.query<{ rows: number }>(FOLD, [batch])).rows[0]!.rows;
      },
      { settings: LOOK_UP_BY_KEY },
    );
    if (folded < batch) return;
  }
}

/** Uses the index tracked_counts_to_fold and the primary key. A day without rows has no count. */
const FOLD = `WITH added AS MATERIALIZED (
    SELECT entity_id, app_id, day, id FROM tracked_counts WHERE id > 0 ORDER BY id LIMIT $1
  ), gone AS (
    DELETE FROM tracked_counts AS c
    USING (SELECT * FROM added UNION ALL SELECT DISTINCT entity_id, app_id, day, 0 FROM added) AS a
    WHERE c.entity_id = a.entity_id AND c.app_id = a.app_id AND c.day = a.day AND c.id = a.id
    RETURNING c.*
  ), folded AS (
    INSERT INTO tracked_counts (entity_id, app_id, day, id, events, sessions, locations)
    SELECT entity_id, app_id, day, 0, sum(events), sum(sessions), sum(locations) FROM gone GROUP BY entity_id, app_id, day
    HAVING sum(events) <> 0 OR sum(sessions) <> 0 OR sum(locations) <> 0)
  SELECT count(*) AS rows FROM added`;
