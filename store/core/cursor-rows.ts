import type { Database, Tx } from './database.ts';
import { LOOK_UP_BY_KEY } from './look-up-by-key.ts';

const PAGE = 1_000;

/** Yields a query's rows through a cursor: searching each page anew takes ever longer. Vacuum waits, no write does. */
export async function* cursorRows<Row extends Record<string, unknown>>(
  db: Database,
  query: string,
  parameters: unknown[],
  settings = LOOK_UP_BY_KEY,
): AsyncGenerator<Row> {
  const tx = await db.connect();
  let broken: Error | undefined;
  try {
    await tx.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL transaction_timeout = 0; ${settings}`);
    for await (const rows of cursorPages<Row>(tx, query, parameters)) yield* rows;
  } finally {
    await tx.query('ROLLBACK').catch((cause: Error) => {
      broken = cause;
    });
    tx.release(broken);
  }
}

/** Yields a query's rows in pages, through a cursor of an open transaction. */
export async function* cursorPages<Row extends Record<string, unknown>>(
  tx: Tx,
  query: string,
  parameters: unknown[],
): AsyncGenerator<Row[]> {
  await tx.query(`DECLARE shown NO SCROLL CURSOR FOR ${query}`, parameters);
  for (;;) {
    const { rows } = await tx.query<Row>(`FETCH ${PAGE} FROM shown`);
    yield rows;
    if (rows.length < PAGE) return;
  }
}
