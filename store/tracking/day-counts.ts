/** Counts of events, sessions and locations by app and UTC day. */

import { DAY_MS } from '../../domain/time/durations.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { AppCall, PlacedSubject } from './app-call.ts';

/** The counted tables, each with the column of its time. */
export const TIME_OF = { events: 'happened_at', sessions: 'started_at', locations: 'happened_at' } as const;

export type CountedTable = keyof typeof TIME_OF;

/** The counts that a transaction adds to an app's day. `day` counts from 1970-01-01. */
export type DayCount = { appId: number; day: number } & Record<CountedTable, number>;

/** Counts new calls by day: events, locations, and sessions that begin or whose start has moved. */
export function countByDay(calls: readonly AppCall[], subjects: readonly PlacedSubject[]): DayCount[] {
  const counts = new Map<string, DayCount>();
  const add = (appId: number, at: number, table: CountedTable, rows: number) => {
    const day = Math.floor(at / DAY_MS);
    const key = `${appId} ${day}`;
    const count = counts.get(key) ?? { appId, day, events: 0, sessions: 0, locations: 0 };
    count[table] += rows;
    counts.set(key, count);
  };
  for (const { appId, happenedAt, event, context } of calls) {
    if (event !== null) add(appId, happenedAt, 'events', 1);
    if (context.latitude !== null && context.longitude !== null) add(appId, happenedAt, 'locations', 1);
  }
  for (const { appId, placed } of subjects) {
    for (const { session, foundAt } of placed) {
      if (foundAt === session.startedAt) continue;
      add(appId, session.startedAt, 'sessions', 1);
      if (foundAt !== null) add(appId, foundAt, 'sessions', -1);
    }
  }
  return [...counts.values()];
}

/**
 * Returns SQL that subtracts deleted rows from the counts of their days, in the statement that deletes them. `deleted`
 * has `app_id` and the time as `at`; $1 is the entity.
 */
export const subtractDeleted = (table: CountedTable, deleted: string): string =>
  `INSERT INTO tracked_counts (entity_id, app_id, day, ${table})
   SELECT $1, app_id, (at AT TIME ZONE 'UTC')::date, -count(*) FROM ${deleted} GROUP BY 2, 3`;

/**
 * Sets the counts of these days to 0, in the transaction that has dropped their partition, with the lock of partitions.
 * Uses the primary key app by app, since everything else waits for this.
 */
export async function deleteDayCounts(tx: Tx, table: CountedTable, from: Date, until: Date): Promise<void> {
  await tx.query(LOOK_UP_BY_KEY);
  const ofDays = 'c.entity_id = a.entity_id AND c.app_id = a.id AND c.day >= $1::date AND c.day < $2::date';
  const days = [from.toISOString().slice(0, 10), until.toISOString().slice(0, 10)];
  await tx.query(
    `UPDATE tracked_counts AS c SET ${table} = 0 FROM apps AS a WHERE ${ofDays} AND c.${table} <> 0`,
    days,
  );
  await tx.query(
    `DELETE FROM tracked_counts AS c USING apps AS a WHERE ${ofDays} AND c.events = 0 AND c.sessions = 0 AND c.locations = 0`,
    days,
  );
}
