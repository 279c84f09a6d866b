/** A pool that gives up on a frozen database. */
import pg from 'pg';
import type { Database, Tx } from './database.ts';

/** Time limits: for a session of the pool; for an answer, after which a new session must begin; and for that. */
export type Patience = { sessionMs: number; answerMs: number };

const PATIENCE: Patience = { sessionMs: 5_000, answerMs: 5_000 };

/**
 * Returns the pool for requests. Fails if no session is free in time, or if an answer is late and Postgres, as if
 * frozen, begins no new session; otherwise a statement may take any time. Both errors are those of a database that is
 * away.
 */
export function impatient(db: Database, patience: Patience = PATIENCE): Database {
  const isFrozen = oneAtATime(() => letsNoSessionBegin(db, patience.answerMs));
  const connect = async () => attended(await sessionOf(db, patience.sessionMs), patience.answerMs, isFrozen);
  const query = async (...args: Parameters<Database['query']>) => {
    const session = await connect();
    let broken: Error | undefined;
    try {
      return await (session.query(...args) as unknown as Promise<unknown>);
    } catch (error) {
      broken = error as Error;
      throw error;
    } finally {
      // As the pool does after any failed statement.
      session.release(broken);
    }
  };
  return overlaid(db, { connect, query });
}

async function sessionOf(db: Database, withinMs: number): Promise<Tx> {
  const asked = db.connect();
  const session = await inTime(asked, withinMs);
  if (session !== LATE) return session;
  asked.then(
    (late) => late.release(),
    () => {},
  );
  throw new Error('timeout exceeded when trying to connect');
}

const LATE = Symbol('late');
const TICKS = 10;

/** Returns LATE after `ms`, counted in ticks, so that a busy process does not take waiting answers for late. */
async function inTime<T>(awaited: Promise<T>, ms: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    let ticks = 0;
    timer = setInterval(() => {
      ticks += 1;
      if (ticks === TICKS) resolve(LATE);
    }, ms / TICKS);
  });
  try {
    return await Promise.race([awaited, late]);
  } finally {
    clearInterval(timer);
  }
}

function attended(session: Tx, answerMs: number, isFrozen: () => Promise<boolean>): Tx {
  const query = (...args: Parameters<Tx['query']>) => {
    const answer: unknown = session.query(...args);
    const timer = setInterval(() => {
      void isFrozen().then((frozen) => {
        if (frozen) breakOff(session);
      });
    }, answerMs);
    const stop = () => clearInterval(timer);
    if (answer instanceof Promise) void answer.then(stop, stop);
    else (answer as NodeJS.EventEmitter).once('close', stop).once('error', stop); // of a COPY
    return answer;
  };
  return overlaid(session, { query });
}

function breakOff(session: pg.ClientBase): void {
  const { connection } = session as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}

async function letsNoSessionBegin(db: Database, withinMs: number): Promise<boolean> {
  const { connectionString } = db.options;
  const client = new pg.Client({ connectionString: connectionString! });
  client.on('error', () => {});
  // A server that refuses a session is alive.
  const begun = await inTime(
    client.connect().catch(() => {}),
    withinMs,
  );
  if (begun === LATE) breakOff(client);
  else void client.end().catch(() => {});
  return begun === LATE;
}

function oneAtATime<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined;
  return () =>
    (asking ??= ask().finally(() => {
      asking = undefined;
    }));
}

function overlaid<T extends object>(object: T, methods: Record<string, unknown>): T {
  return new Proxy(object, {
    get(target, name) {
      if (typeof name === 'string' && name in methods) return methods[name];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member as (...args: unknown[]) => unknown).bind(target) : member;
    },
  });
}
