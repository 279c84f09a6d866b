/** Counts of events by kind and day. */

import type { DayPeriod } from '../../domain/analytics/day-period.ts';
import { type Database, read } from '../core/database.ts';

/** Counts by day, in epoch seconds of its midnight, and of sessions in all. */
export type EventHits = { days: Map<number, number>; sessions: number };

const OF_PERIOD = 'entity_id = $1 AND app_id = $2 AND happened_at >= $3 AND happened_at < $4';

/** Returns counts by `hitsKey`. Costs grow with the events of the period. */
export async function countEventHits(
  db: Database,
  entityId: number,
  appId: number,
  { from, until }: DayPeriod,
  signal?: AbortSignal,
): Promise<Map<string, EventHits>> {
  type Row = { log_type: number; name: string; day: number | null; count: number };
  // Two scans by the primary key of events in the partitions of the period: few groups, then pairs of name and session.
  // One scan for both has four times as many groups, which spill to disk. A session may last over midnight.
  const rows = await read(
    db,
    async (tx) =>
      (
        await tx.query<Row>(
          `SELECT log_type, name, extract(epoch FROM day)::bigint AS day, count(*) AS count FROM (
             SELECT log_type, name, date_trunc('day', happened_at, 'UTC') AS day FROM events WHERE ${OF_PERIOD}) e
           GROUP BY e.log_type, e.name, e.day
           UNION ALL
           SELECT log_type, name, NULL, count(session_id) FROM (
             SELECT DISTINCT log_type, name, session_id FROM events WHERE ${OF_PERIOD}) e
           GROUP BY log_type, name`,
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
