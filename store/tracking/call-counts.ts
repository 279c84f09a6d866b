/** Counts of received, refused and repeated calls by UTC day. */

import type { Queryable, Tx } from '../core/database.ts';
import type { DayCount } from './day-counts.ts';

/** Calls without an app concern all apps that share their key. */
export const OF_NO_APP = `app_id IS NULL AND EXISTS (
  SELECT FROM app_api_keys k JOIN app_api_keys o ON o.entity_id = k.entity_id AND o.lookup = k.lookup
  WHERE k.entity_id = $1 AND k.app_id = $2 AND o.app_id <> $2)`;

/** The counts of a UTC day; `refusedOfNoApp` counts calls without an app, by a key that the app shares. */
export type DailyCallCounts = {
  date: string;
  accepted: number;
  duplicates: number;
  refused: number;
  refusedOfNoApp: number;
};

/** Lists the counts of the last `days` days, today first, including days without calls. */
export async function listCallCounts(
  db: Queryable,
  entityId: number,
  appId: number,
  days: number,
): Promise<DailyCallCounts[]> {
  // Uses the primary key: a range of days of an entity.
  const { rows } = await db.query<Omit<DailyCallCounts, 'refusedOfNoApp'> & { of_no_app: number }>(
    `SELECT d::date AS date, coalesce(sum(b.accepted) FILTER (WHERE b.app_id = $2), 0)::bigint AS accepted,
       coalesce(sum(b.duplicates) FILTER (WHERE b.app_id = $2), 0)::bigint AS duplicates,
       coalesce(sum(b.refused) FILTER (WHERE b.app_id = $2), 0)::bigint AS refused,
       coalesce(sum(b.refused) FILTER (WHERE b.app_id IS NULL), 0)::bigint AS of_no_app
     FROM generate_series(date_trunc('day', now(), 'UTC') - ($3 - 1) * interval '1 day', now(), interval '1 day') AS d
     LEFT JOIN ingested_batches b ON b.entity_id = $1 AND b.received_at >= d AND b.received_at < d + interval '1 day'
       AND (b.app_id = $2 OR b.${OF_NO_APP})
     GROUP BY d ORDER BY d DESC`,
    [entityId, appId, days],
  );
  return rows.map(({ of_no_app: refusedOfNoApp, ...day }) => ({ ...day, refusedOfNoApp }));
}

/** The counts of an app's calls in a transaction; `appId` is null for calls without an app. */
export type AppCallCounts = { appId: number | null; accepted: number; duplicates: number; refused: number };

/**
 * Inserts the counts of a transaction, and in the same statement what it adds to counts of days, which saves a round
 * trip.
 */
export async function insertCallCounts(
  tx: Tx,
  entityId: number,
  batches: readonly AppCallCounts[],
  counts: readonly DayCount[] = [],
): Promise<void> {
  if (batches.length === 0) return;
  await tx.query({
    name: 'insert-ingested-batches',
    text: `WITH counted AS (
             INSERT INTO tracked_counts (entity_id, app_id, day, events, sessions, locations)
             SELECT $1, app_id, 'epoch'::date + day, events, sessions, locations
             FROM unnest($6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::integer[])
               AS given (app_id, day, events, sessions, locations))
           INSERT INTO ingested_batches (entity_id, app_id, accepted, duplicates, refused)
           SELECT $1, given.* FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[]) AS given`,
    values: [
      entityId,
      batches.map(({ appId }) => appId),
      batches.map(({ accepted }) => accepted),
      batches.map(({ duplicates }) => duplicates),
      batches.map(({ refused }) => refused),
      counts.map(({ appId }) => appId),
      counts.map(({ day }) => day),
      counts.map(({ events }) => events),
      counts.map(({ sessions }) => sessions),
      counts.map(({ locations }) => locations),
    ],
  });
}
