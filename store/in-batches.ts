import { type Database, write } from './database.ts';

/** Repeats a statement that changes some rows at once until it finds none, each time in a short transaction; how many it changed. */
export async function inBatches(db: Database, statement: string, parameters: unknown[]): Promise<number> {
  for (let total = 0; ;) {
    const changed = await write(db, async (tx) => (await tx.query(statement, parameters)).rowCount ?? 0);
    if (changed === 0) return total;
    total += changed;
  }
}
