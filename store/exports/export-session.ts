/** Database sessions that read exported data: their settings and snapshots. */
import type { Database, Queryable, Tx } from '../core/database.ts';

/** A session of its own for reading much: see `openExportSession`. */
export type ExportSession = Tx;

/**
 * Rows come in the order in which they lie: scans begin at a table's start, without workers, and joins look up each
 * row, whatever the planner expects. Texts don't depend on the database's settings. A statement may wait for its
 * consumer.
 */
const SETTINGS = {
  synchronize_seqscans: 'off',
  max_parallel_workers_per_gather: '0',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_seqscan: 'off',
  jit: 'off',
  timezone: 'UTC',
  datestyle: 'ISO',
  extra_float_digits: '1',
  bytea_output: 'hex',
  default_transaction_read_only: 'on',
  transaction_timeout: '0',
  statement_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};

/** Opens a session that reads what is exported; `release` ends it, also after a broken stream. */
export async function exportSession(db: Database): Promise<{ session: ExportSession; release: () => void }> {
  const session = await db.connect();
  try {
    await session.query(
      Object.entries(SETTINGS)
        .map(([name, value]) => `SET ${name} = '${value}'`)
        .join(';'),
    );
  } catch (error) {
    session.release(true);
    throw error;
  }
  return { session, release: () => session.release(true) };
}

/** Holds a snapshot for the session until `letSnapshotGo`, so that slices meet each row once. Vacuum waits. */
export async function holdSnapshot(session: Queryable): Promise<void> {
  await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
}

export async function letSnapshotGo(session: Queryable): Promise<void> {
  await session.query('COMMIT');
}
