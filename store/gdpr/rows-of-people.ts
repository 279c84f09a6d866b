import { cursorRows } from '../core/cursor-rows.ts';
import { type Database, read, write } from '../core/database.ts';
import { changeRows } from '../core/in-batches.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { rowIdsOf } from './people-keys.ts';
import { BATCH, countRows, type LocationDependencies, type PersonalDataLocation } from './personal-data-location.ts';

/**
 * Rows of a table that are somebody's as a whole. `keys`: its primary key behind the entity; `found`: a query for the
 * keys of people's rows, each once, from $1 the entity, $2 user ids, $3 device ids, $4 devices of which all is asked
 * for, and $5 user ids that are vouched for; `shown`: what an archive shows of a row, called `r`.
 */
type RowsOfPeople = {
  table: string;
  keys: Record<string, 'integer' | 'text' | 'timestamptz' | 'bigint'>;
  found: string;
  shown: string;
};

/** Ways to count, show and delete them, by the indexes that `found` names, a batch in a transaction. */
export function rowsOfPeople(rows: RowsOfPeople): Pick<PersonalDataLocation, 'count' | 'export' | 'erase'> {
  return {
    count: ({ db }, entityId, people) =>
      read(db, (tx) => countRows(tx, allOf(rows.found), rowIdsOf(entityId, people)), { settings: LOOK_UP_BY_KEY }),
    export: ({ db }, entityId, people) => listRows(db, rows, rowIdsOf(entityId, people)),
    erase: (deps, entityId, people) =>
      changeFound(deps, `DELETE FROM ${rows.table} AS r USING found`, rows, rowIdsOf(entityId, people)),
  };
}

/**
 * Changes the rows in batches, each of those found first, until few are left: `change` is all of the statement before
 * WHERE.
 */
export async function changeFound(
  { db, tally }: Pick<LocationDependencies, 'db' | 'tally'>,
  change: string,
  { keys, found }: Pick<RowsOfPeople, 'keys' | 'found'>,
  parameters: unknown[],
): Promise<number> {
  const statement = `WITH found AS MATERIALIZED (SELECT * FROM ${allOf(found)} LIMIT ${BATCH})
    ${change} WHERE r.entity_id = $1 AND ${isFound(keys)}`;
  for (let total = 0; ;) {
    const changed = await write(db, (tx) => changeRows(tx, statement, parameters, tally), { settings: LOOK_UP_BY_KEY });
    total += changed;
    if (changed < BATCH) return total;
  }
}

/** A condition: any app of the entity. Where an index has the app before what is looked for. */
export const OF_ANY_APP = 'app_id = ANY (ARRAY(SELECT a.id FROM apps a WHERE a.entity_id = $1))';

/**
 * What a table with user_id and device_id has of people: of most devices only what nobody did by name. No row is in two
 * parts.
 */
export const byUserOrDevice = (key: string, table: string) => `
  SELECT ${key} FROM ${table} WHERE entity_id = $1 AND user_id = ANY ($2)
  UNION ALL SELECT ${key} FROM ${table} WHERE entity_id = $1 AND device_id = ANY ($3) AND user_id IS NULL
  UNION ALL SELECT ${key} FROM ${table} WHERE entity_id = $1 AND device_id = ANY ($4) AND user_id IS NOT NULL AND user_id <> ALL ($2)`;

/** The subjects of sessions of these users or devices. */
export const USER_SUBJECTS = `ARRAY(SELECT 'u' || id FROM unnest($2::text[]) AS p (id))`;
export const DEVICE_SUBJECTS = `ARRAY(SELECT 'd' || id FROM unnest($3::text[]) AS p (id))`;
export const WHOLE_SUBJECTS = `ARRAY(SELECT 'd' || id FROM unnest($4::text[]) AS p (id))`;

/**
 * In a change of rows `r` with user_id: the keyed hash of its user, if that is one of $2; $6 has their hashes
 * (`hashesOfUsers`).
 */
export const HASH_OF_USER = `coalesce((SELECT decode(p.hash, 'hex') FROM unnest($2::text[], $6::text[]) AS p (id, hash)
  WHERE p.id = r.user_id), r.user_hash)`;

/** In the order of the key: of what happened, one app's after another's, by time. */
function listRows(
  db: Database,
  { table, keys, found, shown }: RowsOfPeople,
  parameters: unknown[],
): AsyncGenerator<Record<string, unknown>> {
  return cursorRows(
    db,
    `SELECT ${shown} FROM (SELECT * FROM ${allOf(found)} ORDER BY ${Object.keys(keys).join(', ')} OFFSET 0) AS found
     JOIN ${table} AS r ON r.entity_id = $1 AND ${isFound(keys)}`,
    parameters,
  );
}

/** Postgres wants to know the type of each parameter, also where a query is about users or devices only. */
const allOf = (found: string) => `(${found}) AS f WHERE ($2::text[], $3::text[], $4::text[], $5::text[]) IS NOT NULL`;

function isFound(keys: RowsOfPeople['keys']): string {
  return Object.keys(keys)
    .map((column) => `r.${column} = found.${column}`)
    .join(' AND ');
}
