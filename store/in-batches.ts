import { type Database, type Tx, write } from './database.ts';

/** Told of each batch within its transaction. */
type Tally = (tx: Tx, rows: number) => Promise<void>;

/** Repeats a statement that changes some rows at once until it finds none, each time in a short transaction; how many it changed. */
export async function inBatches(db: Database, statement: string, parameters: unknown[], tally?: Tally): Promise<number> {
  for (let total = 0; ;) {
    const changed = await write(db, async (tx) => {
      const rows = (await tx.query(statement, parameters)).rowCount ?? 0;
      if (rows > 0) await tally?.(tx, rows);
      return rows;
    });
    if (changed === 0) return total;
    total += changed;
  }
}
