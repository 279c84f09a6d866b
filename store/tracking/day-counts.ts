import { DAY_MS } from '../../domain/core/durations.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { IngestedCall, PlacedSubject } from './app-call.ts';

/** The tables whose rows are counted by app and UTC day, with the column of their time. */
export const TIME_OF = { events: 'happened_at', sessions: 'started_at', locations: 'happened_at' } as const;

export type CountedTable = keyof typeof TIME_OF;

/** What a transaction adds to an app's day. `day` counts from 1970-01-01. */
export type DayCount = { appId: number; day: number } & Record<CountedTable, number>;

/**
 * What new calls add once they have their sessions: events, locations, and sessions that begin, or begin at another
 * time than before.
 */
export function countByDay(calls: readonly IngestedCall[], subjects: readonly PlacedSubject[]): DayCount[] {
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
 * Takes deleted rows off the counts of their days, in the statement that deletes them: `deleted` has their `app_id` and
 * their time as `at`, $1 is the entity.
 */
export const subtractDeleted = (table: CountedTable, deleted: string): string =>
  `INSERT INTO tracked_counts (entity_id, app_id, day, ${table})
   SELECT $1, app_id, (at AT TIME ZONE 'UTC')::date, -count(*) FROM ${deleted} GROUP BY 2, 3`;

/**
 * Sets the counts of these days to none, in the transaction that has dropped their partition, with the lock of
 * partitions. By the primary key, app by app: everybody waits for this.
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
