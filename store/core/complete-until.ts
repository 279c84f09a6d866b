import type { Queryable } from './database.ts';

/** SQL for the moment before which all rows with `received_at` are committed: write transactions end within 30 s. */
export const COMPLETE_UNTIL = `least(now() - interval '30 seconds', (
  SELECT min(xact_start) FROM pg_stat_activity
  WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()))`;

/** Returns that moment in ISO 8601, in whole milliseconds. */
export async function findCompleteUntil(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ until: Date }>(`SELECT date_trunc('milliseconds', ${COMPLETE_UNTIL}) AS until`);
  return rows[0]!.until.toISOString();
}
