/** The database's clock, and transactions that may still write into a window of time. */

import type { Queryable } from './database.ts';

/** Every transaction that writes ends within this time (database.ts). */
const WRITTEN_WITHIN_SECONDS = 30;
const LOOK_AGAIN_MS = 1_000;
/** How long to wait for transactions that may have begun before; rows that they commit later are found as late rows. */
const UNKNOWN_MINUTES = 10;

/**
 * Returns the least time in ms for which a window over `received_at` may still be written to; 0 if no transaction that
 * began before its end is left. Rows carry the start of their transaction. A role that may not read all statistics does
 * not see when transactions of other roles began.
 */
export async function findWindowOpenMs(db: Queryable, end: Date): Promise<number> {
  const { rows } = await db.query<{ left_ms: number; is_written: boolean }>(
    `SELECT ceil(extract(epoch FROM $1::timestamptz + make_interval(secs => $2) - now()) * 1000)::float8 AS left_ms,
       EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL
         AND pid <> pg_backend_pid() AND CASE WHEN xact_start IS NULL THEN now() < $1::timestamptz + make_interval(mins => $3)
           ELSE xact_start < $1 END) AS is_written`,
    [end, WRITTEN_WITHIN_SECONDS, UNKNOWN_MINUTES],
  );
  const { left_ms: leftMs, is_written: isWritten } = rows[0]!;
  return Math.max(leftMs, isWritten ? LOOK_AGAIN_MS : 0);
}

/**
 * Returns for how many ms transactions begun before a moment may still commit (`waitForOlderWriters`). Age
 * distinguishes readers from those that have not written yet. About other roles it knows no more than the function
 * above.
 */
export async function findOlderWritersMs(db: Queryable, moment: Date): Promise<number> {
  const { rows } = await db.query<{ is_open: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
         AND CASE WHEN query = '<insufficient privilege>'
           THEN now() < CASE WHEN backend_xid IS NULL THEN young.until ELSE $1::timestamptz + make_interval(mins => $3) END
           ELSE xact_start < $1 AND (backend_xid IS NOT NULL OR now() < young.until) END) AS is_open
     FROM (SELECT $1::timestamptz + make_interval(secs => $2) AS until) young`,
    [moment, WRITTEN_WITHIN_SECONDS, UNKNOWN_MINUTES],
  );
  return rows[0]!.is_open ? LOOK_AGAIN_MS : 0;
}

export async function findNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return rows[0]!.now;
}
