/** Processes that run on a database, and work that needs it alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { refuse } from '../../domain/core/refusal.ts';
import type { Database, Tx } from './database.ts';

/** Lock that each process that serves or works shares while it lives; the number is arbitrary. */
const RUNNING_LOCK = 5_717_023_444;
const AGAIN_AFTER_MS = 1_000;

/** Marks this process as running until the result is called, by a session's lock. Refuses while `haveAlone` runs. */
export async function sayRunning(db: Database): Promise<() => void> {
  const ending = new AbortController();
  let session: Tx | null = null;
  const heldBy = (held: Tx) => {
    session = held;
    held.once('end', lost);
  };
  const lost = () => {
    session?.release(true);
    session = null;
    void holdAgain(db, ending.signal).then((held) => held && heldBy(held));
  };
  heldBy(
    (await hold(db)) ??
      refuse(
        503,
        'keys_rotating',
        "The server's keys are being rotated on this database: start again once `npm run keys` has ended.",
      ),
  );
  return () => {
    ending.abort();
    session?.off('end', lost);
    session?.release(true);
  };
}

async function holdAgain(db: Database, signal: AbortSignal): Promise<Tx | null> {
  while (!signal.aborted) {
    await sleep(AGAIN_AFTER_MS, undefined, { signal }).catch(() => {});
    const held = signal.aborted ? null : await hold(db).catch(() => null);
    if (held && !signal.aborted) return held;
    held?.release(true);
  }
  return null;
}

async function hold(db: Database): Promise<Tx | null> {
  const session = await db.connect();
  const { rows } = await session.query<{ held: boolean }>('SELECT pg_try_advisory_lock_shared($1) AS held', [
    RUNNING_LOCK,
  ]);
  if (rows[0]!.held) return session;
  session.release();
  return null;
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
