import type { TestStore } from './database.ts';
import { waitFor } from './wait.ts';

/**
 * Until so many sessions of the test's database wait for a lock, or more: what an earlier test began may wait beside
 * them.
 */
export function lockWaits({ db }: Pick<TestStore, 'db'>, sessions = 1): Promise<true> {
  return waitFor(`${sessions} sessions to wait for a lock`, async () => {
    const { rowCount } = await db.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount! >= sessions;
  });
}
