import type { Queryable } from '../../../store/core/database.ts';

/** Counts all days anew: after rows that no call has brought, or that went by hand. */
export async function recountTracked(db: Queryable): Promise<void> {
  const day = (time: string) => `(${time} AT TIME ZONE 'UTC')::date`;
  await db.query(`TRUNCATE tracked_counts;
    INSERT INTO tracked_counts (entity_id, app_id, day, events)
      SELECT entity_id, app_id, ${day('happened_at')}, count(*) FROM events GROUP BY 1, 2, 3;
    INSERT INTO tracked_counts (entity_id, app_id, day, sessions)
      SELECT entity_id, app_id, ${day('started_at')}, count(*) FROM sessions GROUP BY 1, 2, 3;
    INSERT INTO tracked_counts (entity_id, app_id, day, locations)
      SELECT entity_id, app_id, ${day('happened_at')}, count(*) FROM locations GROUP BY 1, 2, 3`);
}
