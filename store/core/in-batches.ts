import { type Database, type Queryable, write } from './database.ts';

/** Receives each batch's count within its transaction, so that counts stay exact after a kill. */
export type Tally = (tx: Queryable, rows: number) => Promise<void>;

/** Runs a statement that changes rows, and `tally` in its transaction. Returns the number of rows. */
export async function changeRows(
  tx: Queryable,
  statement: string,
  parameters: unknown[],
  tally?: Tally,
): Promise<number> {
  const rows = (await tx.query(statement, parameters)).rowCount ?? 0;
  if (rows > 0) await tally?.(tx, rows);
  return rows;
}

/** Repeats a statement in short transactions until it changes no row. Returns the number of changed rows. */
export async function inBatches(
  db: Database,
  statement: string,
  parameters: unknown[],
  tally?: Tally,
): Promise<number> {
  for (let total = 0; ;) {
    const changed = await write(db, (tx) => changeRows(tx, statement, parameters, tally));
    if (changed === 0) return total;
    total += changed;
  }
}
