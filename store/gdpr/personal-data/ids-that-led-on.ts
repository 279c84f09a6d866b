import type { Queryable } from '../../core/database.ts';
import { inBatches } from '../../core/in-batches.ts';
import { BATCH, countRows, type LocationDependencies } from '../personal-data-location.ts';

/**
 * A table of ids, each with the id that led to it (`via`): `own` are a person's rows, `ledTo` others' rows to which the
 * person's ids led, both as what follows FROM, with the table's row as `i`.
 */
type IdsWithOrigin = { table: string; own: string; ledTo: string };

/** Returns how many rows hold an id of the person, in either column. */
export async function countIds(db: Queryable, { own, ledTo }: IdsWithOrigin, parameters: unknown[]): Promise<number> {
  return (await countRows(db, own, parameters)) + (await countRows(db, ledTo, parameters));
}

/** Deletes the person's rows and empties `via` of the others, in batches, and returns how many rows changed. */
export async function eraseIds(
  { db, tally }: LocationDependencies,
  { table, own, ledTo }: IdsWithOrigin,
  parameters: unknown[],
): Promise<number> {
  const deleted = await inBatches(
    db,
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT i.ctid FROM ${own} LIMIT ${BATCH}))`,
    parameters,
    tally,
  );
  return (
    deleted +
    (await inBatches(
      db,
      `UPDATE ${table} SET via = NULL WHERE ctid = ANY (ARRAY(SELECT i.ctid FROM ${ledTo} LIMIT ${BATCH}))`,
      parameters,
      tally,
    ))
  );
}
