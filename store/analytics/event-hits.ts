/** Counts of events by kind and day. */

import type { DayPeriod } from '../../domain/analytics/day-period.ts';
import { type Database, read } from '../core/database.ts';

/** Counts by day, in epoch seconds of its midnight, and of sessions in all. */
export type EventHits = { days: Map<number, number>; sessions: number };

/** Returns counts by `hitsKey`. Costs grow with the events of the period. */
export async function countEventHits(
  db: Database,
  entityId: number,
  appId: number,
  { from, until }: DayPeriod,
  signal?: AbortSignal,
): Promise<Map<string, EventHits>> {
  type Row = { log_type: number; name: string; day: number | null; count: number };
  // Uses the primary key of events in the partitions of the period. A session may last over midnight.
  const rows = await read(
    db,
    async (tx) =>
      (
        await tx.query<Row>(
          `WITH hits AS MATERIALIZED (
       SELECT log_type, name, session_id, extract(epoch FROM date_trunc('day', happened_at, 'UTC'))::bigint AS day, count(*) AS hits
       FROM events WHERE entity_id = $1 AND app_id = $2 AND happened_at >= $3 AND happened_at < $4
       GROUP BY log_type, name, session_id, 4)
     SELECT log_type, name, day, sum(hits)::bigint AS count FROM hits GROUP BY log_type, name, day
     UNION ALL
     SELECT log_type, name, NULL, count(DISTINCT session_id) FROM hits GROUP BY log_type, name`,
          [entityId, appId, from, until],
        )
      ).rows,
    { settings: `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = '120s'`, signal },
  );
  const found = new Map<string, EventHits>();
  for (const { log_type: logType, name, day, count } of rows) {
    const key = hitsKey({ logType, name });
    const hits = found.get(key) ?? { days: new Map<number, number>(), sessions: 0 };
    if (day === null) hits.sessions = count;
    else hits.days.set(day, count);
    found.set(key, hits);
  }
  return found;
}

export function hitsKey({ logType, name }: { logType: number; name: string }): string {
  return `${logType} ${name}`;
}
