/** Counts of events, sessions and locations by app and UTC day. */

export const TIME_OF = { events: 'happened_at', sessions: 'started_at', locations: 'happened_at' } as const;

export type CountedTable = keyof typeof TIME_OF;

/** The counts that a transaction adds to an app's day. `day` counts from 1970-01-01. */
export type DayCount = { appId: number; day: number } & Record<CountedTable, number>;

/** Returns SQL that subtracts the rows of `deleted` (`app_id`, `at`) from their days' counts. $1 is the entity. */
export const subtractDeleted = (table: CountedTable, deleted: string): string =>
  `INSERT INTO tracked_counts (entity_id, app_id, day, ${table})
   SELECT $1, app_id, (at AT TIME ZONE 'UTC')::date, -count(*) FROM ${deleted} GROUP BY 2, 3`;
