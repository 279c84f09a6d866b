/** Sessions that read a funnel's events side by side, each those of its people, on one snapshot. */

import type { QueryResult } from 'pg';
import { type Database, endingOn, type Tx } from '../core/database.ts';

/** A session's part of the people. */
export type Shard = { number: number; of: number };

/** Number of sessions that share a funnel's people, since one session is bound by one core. */
export const SHARDS = 2;
export const FUNNEL_TIMEOUT_MS = 120_000;
/**
 * Settings by which each session sorts its people's rows once; parallel plans sort them elsewhere. The planner can't
 * know how many devices have one user: it would sort all events to join them, or compare each event of a small app with
 * each device (100,000 events took 26 s, now 0.3 s). A running timeout can't be moved, only ended and begun again.
 */
const SETTINGS = `SET LOCAL transaction_timeout = 0; SET LOCAL transaction_timeout = ${FUNNEL_TIMEOUT_MS};
  SET LOCAL work_mem = '64MB'; SET LOCAL enable_mergejoin = off; SET LOCAL enable_nestloop = off; SET LOCAL cursor_tuple_fraction = 1;
  SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; SET LOCAL client_connection_check_interval = '2s'`;

/** Does the work of each shard, all on the same snapshot. */
export async function inShards(
  db: Database,
  signal: AbortSignal | undefined,
  work: (session: Tx, shard: Shard) => Promise<void>,
): Promise<void> {
  const sessions: Tx[] = [];
  const pids: number[] = [];
  /** Begins with one message to Postgres: on a busy machine each message waits for its turn. */
  const begin = async (snapshot: string, columns: string) => {
    const session = await db.connect();
    sessions.push(session);
    const results = (await session.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${snapshot} ${SETTINGS};
      SELECT pg_backend_pid() AS pid${columns}`)) as unknown as QueryResult<{ pid: number; snapshot: string }>[];
    const [row] = results.at(-1)!.rows;
    pids.push(row!.pid);
    return row!;
  };
  let failed = true;
  try {
    const { snapshot } = await begin('', ', pg_export_snapshot() AS snapshot');
    while (sessions.length < SHARDS) await begin(`SET TRANSACTION SNAPSHOT '${snapshot}';`, '');
    await endingOn(db, pids, signal, () =>
      Promise.all(sessions.map((session, number) => work(session, { number, of: SHARDS }))),
    );
    failed = false;
  } finally {
    await Promise.all(
      sessions.map(async (session) => {
        if (failed) session.release(true);
        else
          await session.query('COMMIT').then(
            () => session.release(),
            () => session.release(true),
          );
      }),
    );
  }
}

/** Yields the rows of a query in pages by a cursor, which needs its own name in the transaction. */
export async function* pagesOf<Row extends object>(
  session: Tx,
  name: string,
  query: string,
  values: unknown[],
  size: number,
): AsyncGenerator<Row[]> {
  const fetchPage = () => {
    const page = session.query<Row>(`FETCH ${size} FROM ${name}`);
    page.catch(() => {}); // an unawaited one fails with its session
    return page;
  };
  await session.query(`DECLARE ${name} NO SCROLL CURSOR FOR ${query}`, values);
  let next = fetchPage();
  for (;;) {
    const { rows } = await next;
    const isLast = rows.length < size;
    if (!isLast) next = fetchPage();
    yield rows;
    if (isLast) break;
  }
}
