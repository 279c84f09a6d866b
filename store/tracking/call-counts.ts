import type { Queryable, Tx } from '../core/database.ts';
import type { DayCount } from './day-counts.ts';

/** Calls that told of no app concern those apps that have a key with others. */
export const OF_NO_APP = `app_id IS NULL AND EXISTS (
  SELECT FROM app_api_keys k JOIN app_api_keys o ON o.entity_id = k.entity_id AND o.lookup = k.lookup
  WHERE k.entity_id = $1 AND k.app_id = $2 AND o.app_id <> $2)`;

/**
 * What came on a UTC day: received = accepted + duplicates + refused, and of calls that told of no app of their shared
 * key.
 */
export type IngestedDay = {
  date: string;
  accepted: number;
  duplicates: number;
  refused: number;
  refusedOfNoApp: number;
};

/** Of today and the days before it, so many together, the last one first; days on which nothing came are there too. */
export async function listIngestedDays(
  db: Queryable,
  entityId: number,
  appId: number,
  days: number,
): Promise<IngestedDay[]> {
  // By the primary key: a range of days of one entity.
  const { rows } = await db.query<Omit<IngestedDay, 'refusedOfNoApp'> & { of_no_app: number }>(
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

/** What a transaction took in of an app's calls; `appId` null: of calls that told of no app. */
export type TakenIn = { appId: number | null; accepted: number; duplicates: number; refused: number };

/**
 * Along with them what they add to the counts of days: a statement of its own would be another turn of the connection.
 */
export async function insertIngestedBatches(
  tx: Tx,
  entityId: number,
  batches: readonly TakenIn[],
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
