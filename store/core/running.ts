/** Processes that run on a database, and work that needs it alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { refuse } from '../../domain/core/refusal.ts';
import { type Database, type HeldSession, holdSession } from './database.ts';

/** Lock that each process that serves or works shares while it lives; the number is arbitrary. */
const RUNNING_LOCK = 5_717_023_444;
const AGAIN_AFTER_MS = 1_000;

/** Marks this process as running until the result is called, by a session's lock. Refuses while `haveAlone` runs. */
export async function sayRunning(db: Database): Promise<() => void> {
  const ending = new AbortController();
  const lost = () => void holdAgain();
  let held = await holdRunning(db, lost);
  async function holdAgain(): Promise<void> {
    for (;;) {
      await sleep(AGAIN_AFTER_MS, undefined, { signal: ending.signal }).catch(() => {});
      if (ending.signal.aborted) return;
      const again = await holdRunning(db, lost).catch(() => null);
      if (!again) continue;
      held = again;
      if (ending.signal.aborted) again.release();
      return;
    }
  }
  return () => {
    ending.abort();
    held.release();
  };
}

function holdRunning(db: Database, onLost: () => void): Promise<HeldSession> {
  return holdSession(
    db,
    async (session) => {
      const { rows } = await session.query<{ held: boolean }>('SELECT pg_try_advisory_lock_shared($1) AS held', [
        RUNNING_LOCK,
      ]);
      if (rows[0]!.held) return;
      refuse(
        503,
        'keys_rotating',
        "The server's keys are being rotated on this database: start again once `npm run keys` has ended.",
      );
    },
    onLost,
  );
}

/** Runs `work` alone on the database: refuses if a process runs on it, and refuses processes that start meanwhile. */
export async function haveAlone<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const session = await db.connect();
  try {
    // Sessions count, too: one may have just lost its lock, or belong to a version without locks.
    const { rows } = await session.query<{ alone: boolean }>(
      `SELECT pg_try_advisory_lock($1) AND NOT EXISTS (SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND application_name ~ '^millrace-[0-9]+$') AS alone`,
      [RUNNING_LOCK],
    );
    if (!rows[0]!.alone) {
      refuse(
        409,
        'running',
        'Millrace runs on this database: stop its processes first (npm start, npm run serve, npm run work).',
      );
    }
    return await work();
  } finally {
    await session.query('SELECT pg_advisory_unlock_all()').catch(() => {});
    session.release(true);
  }
}
