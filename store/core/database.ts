/** The pool of database sessions, and write transactions with retries. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

export type Database = pg.Pool;
export type Tx = pg.PoolClient;
/** The pool, or one session, within a transaction or not. */
export type Queryable = Pick<Tx, 'query'>;

/** Maximum time of a write transaction, so that a window over `received_at` closes (docs/architecture.md). */
const WRITE_TIMEOUT_MS = 30_000;

const DEADLOCK = '40P01';
const SERIALIZATION = '40001';
const UNIQUE_VIOLATION = '23505';
const TRIES = 10;

/** int8 fits a double up to 2^53, far above our counts; numeric and date stay as written. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === pg.types.builtins.INT8) return Number;
    if (oid === pg.types.builtins.DATE) return (text: string) => text;
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

export type DatabaseOptions = {
  url: string;
  max?: number;
  name?: string;
  onError?: (error: Error) => void;
};

/** How long the end of a database waits for its sessions to end: a server that is gone ends no session. */
const END_WITHIN_MS = 5_000;

/** Returns a pool whose sessions end write transactions after WRITE_TIMEOUT_MS; `end` waits for them. */
export function openDatabase({ url, max = 10, name = 'millrace', onError = () => {} }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    types,
    application_name: name,
    connectionTimeoutMillis: 30_000,
    options: `-c transaction_timeout=${WRITE_TIMEOUT_MS} -c timezone=UTC`,
  });
  // A session ended by its timeout, or by the server going down, must not end the process.
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return endingWithSessions(pool);
}

/** Makes `end` wait for the sessions; pg's own only asks them to end. */
function endingWithSessions(pool: pg.Pool): pg.Pool {
  let sessions = 0;
  let lastEnded = () => {};
  pool.on('connect', () => {
    sessions += 1;
  });
  pool.on('remove', () => {
    sessions -= 1;
    if (sessions === 0) lastEnded();
  });
  const end = pool.end.bind(pool);
  pool.end = async () => {
    const allEnded = new Promise<void>((resolve) => {
      lastEnded = resolve;
    });
    await end();
    if (sessions > 0) await Promise.race([allEnded, sleep(END_WITHIN_MS, undefined, { ref: false })]);
  };
  return pool;
}

/** SQLSTATEs of a session or transaction that lasted too long, and of a lock that was not granted in time. */
const TIMED_OUT = ['25P03', '25P04', '55P03'];

/** Returns whether Postgres ended a statement because its transaction or a lock took too long. */
export function isTimedOut(error: unknown): boolean {
  return error instanceof pg.DatabaseError && TIMED_OUT.includes(error.code ?? '');
}

const QUERY_CANCELED = '57014';

export function isQueryCanceled(error: unknown): boolean {
  return (error as { code?: string }).code === QUERY_CANCELED;
}

/** Thrown if another transaction has changed rows that were looked up: `write` runs again from the start. */
export class RowsMoved extends Error {
  override readonly name = 'RowsMoved';
  readonly code = SERIALIZATION;
}

/**
 * Runs `work` in a short write transaction, again after a deadlock or serialization failure, so it changes only the
 * database; with `collide` also after a collision with a key inserted meanwhile. `settings`: SET LOCAL statements.
 */
export async function write<T>(
  db: Database,
  work: (tx: Tx) => Promise<T>,
  { collide = false, settings = '' } = {},
): Promise<T> {
  const transient = collide ? [DEADLOCK, SERIALIZATION, UNIQUE_VIOLATION] : [DEADLOCK, SERIALIZATION];
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTransaction(db, work, `BEGIN;${settings}`);
    } catch (error) {
      if (attempt === TRIES || !transient.includes((error as { code?: string }).code ?? '')) throw error;
    }
  }
}

type ReadOptions = { settings?: string; signal?: AbortSignal | undefined };

/** Runs `work` in a short transaction that only reads. `settings` as in `write`; `signal` as in `endingOn`. */
export function read<T>(
  db: Database,
  work: (tx: Tx) => Promise<T>,
  { settings = '', signal }: ReadOptions = {},
): Promise<T> {
  return inTransaction(
    db,
    async (tx) => {
      const pids = signal ? [await findPid(tx)] : [];
      return endingOn(db, pids, signal, () => work(tx));
    },
    `BEGIN READ ONLY;${settings}`,
  );
}

async function findPid(tx: Tx): Promise<number> {
  const { rows } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]!.pid;
}

/**
 * Runs `work` in sessions with these process ids, which end when the signal aborts: Postgres stops computing, and their
 * statements fail. A request to cancel would have no effect between two statements.
 */
export async function endingOn<T>(
  db: Database,
  pids: readonly number[],
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (!signal) return work();
  signal.throwIfAborted();
  let ended: Promise<unknown> | undefined;
  const end = () => {
    ended = db.query('SELECT pg_terminate_backend(pid) FROM unnest($1::integer[]) AS pid', [pids]).catch(() => {});
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', end);
    await ended;
  }
}

/** A session of its own; `release` ends it, also a second time. */
export type HeldSession = { session: Tx; release(): void };

/** Returns a session for `setUp`'s locks; calls `onLost` if it breaks before `release`, which is then done. */
export async function holdSession(
  db: Database,
  setUp: (session: Tx) => Promise<unknown>,
  onLost: () => void,
): Promise<HeldSession> {
  const session = await db.connect();
  let isHeld = true;
  const release = () => {
    if (isHeld) session.release(true);
    isHeld = false;
  };
  // Stays: the server's last word may arrive after the release.
  session.on('error', () => {
    const wasHeld = isHeld;
    release();
    if (wasHeld) onLost();
  });
  try {
    await setUp(session);
  } catch (error) {
    release();
    throw error;
  }
  return { session, release };
}

async function inTransaction<T>(db: Database, work: (tx: Tx) => Promise<T>, begin: string): Promise<T> {
  const tx = await db.connect();
  let broken: Error | undefined;
  try {
    await tx.query(begin);
    const result = await work(tx);
    await tx.query('COMMIT');
    return result;
  } catch (error) {
    await tx.query('ROLLBACK').catch((cause: Error) => {
      broken = cause;
    });
    throw error;
  } finally {
    tx.release(broken);
  }
}
