import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { type Database, type Queryable, read, type Tx, write } from '../database.ts';
import { LOOK_UP_BY_KEY } from '../look-up-by-key.ts';
import type { Person } from '../tombstones.ts';

/** So many rows are shown at once. */
const PAGE = 1_000;

const LEAST = { integer: '0', text: '', timestamptz: '-infinity', bigint: '0' };

/**
 * Rows of a table that are somebody's as a whole. `keys`: its primary key behind the entity; `found`: a query for the keys of
 * people's rows, each once, from $1 the entity, $2 user ids and $3 device ids; `shown`: what is told of a row, called `r`.
 */
type RowsOfPeople = { table: string; keys: Record<string, keyof typeof LEAST>; found: string; shown: string };

/** Ways to count, show and delete them, by the indexes that `found` names, a batch in a transaction. */
export function rowsOfPeople(rows: RowsOfPeople): Pick<PersonalDataPlace, 'count' | 'export' | 'erase'> {
  return {
    count: ({ db }, entityId, people) => read(db, (tx) => countFound(tx, rows, idsOf(entityId, people))),
    export: ({ db }, entityId, people) => listRows(db, rows, idsOf(entityId, people)),
    erase: ({ db }, entityId, people) => changeFound(db, `DELETE FROM ${rows.table} AS r USING found`, rows, idsOf(entityId, people)),
  };
}

/** Changes the rows in batches, each of those found first, until few are left: `change` is all of the statement before WHERE. */
export async function changeFound(
  db: Database, change: string, { keys, found }: Pick<RowsOfPeople, 'keys' | 'found'>, parameters: unknown[],
): Promise<number> {
  const statement = `WITH found AS MATERIALIZED (SELECT * FROM ${allOf(found)} LIMIT ${BATCH})
    ${change} WHERE r.entity_id = $1 AND ${isFound(keys)}`;
  for (let total = 0; ;) {
    const changed = await write(db, async (tx) => {
      await tx.query(LOOK_UP_BY_KEY);
      return (await tx.query(statement, parameters)).rowCount!;
    });
    total += changed;
    if (changed < BATCH) return total;
  }
}

/** $1 the entity, $2 the user ids, $3 the device ids. */
export function idsOf(entityId: number, people: Person[]): unknown[] {
  const ids = (type: Person['customerType']) =>
    people.filter(({ customerType }) => customerType === type).map(({ customerId }) => customerId);
  return [entityId, ids('user_id'), ids('device_id')];
}

/** A condition: any app of the entity. Where an index has the app before what is looked for. */
export const OF_ANY_APP = 'app_id = ANY (ARRAY(SELECT a.id FROM apps a WHERE a.entity_id = $1))';

/** What a table with user_id and device_id has of people: of a device only what nobody did by name. No row is in both parts. */
export const byUserOrDevice = (key: string, table: string) => `
  SELECT ${key} FROM ${table} WHERE entity_id = $1 AND user_id = ANY ($2)
  UNION ALL SELECT ${key} FROM ${table} WHERE entity_id = $1 AND device_id = ANY ($3) AND user_id IS NULL`;

/** The subjects of sessions of these users or devices. */
export const USER_SUBJECTS = `ARRAY(SELECT 'u' || id FROM unnest($2::text[]) AS p (id))`;
export const DEVICE_SUBJECTS = `ARRAY(SELECT 'd' || id FROM unnest($3::text[]) AS p (id))`;

async function countFound(tx: Tx, { found }: RowsOfPeople, parameters: unknown[]): Promise<number> {
  await tx.query(LOOK_UP_BY_KEY);
  return countRows(tx, allOf(found), parameters);
}

async function* listRows(db: Database, table: RowsOfPeople, parameters: unknown[]): AsyncGenerator<Record<string, unknown>> {
  for (let after = Object.values(table.keys).map((type) => LEAST[type]); ;) {
    const page = await read(db, (tx) => listPage(tx, table, [...parameters, ...after]));
    yield* page.map(({ shown }) => shown);
    if (page.length < PAGE) return;
    after = page.at(-1)!.place;
  }
}

/** The next rows in the order of the key. */
async function listPage(
  tx: Queryable, { table, keys, found, shown }: RowsOfPeople, parameters: unknown[],
): Promise<{ shown: Record<string, unknown>; place: string[] }[]> {
  await tx.query(LOOK_UP_BY_KEY);
  const columns = Object.keys(keys);
  const place = Object.values(keys).map((type, index) => `$${index + 4}::${type}`);
  const { rows } = await tx.query<{ _place?: string[] }>(
    `WITH found AS MATERIALIZED (
       SELECT * FROM ${allOf(found)} AND (${columns.join(', ')}) > (${place.join(', ')})
       ORDER BY ${columns.join(', ')} LIMIT ${PAGE})
     SELECT ${shown}, ARRAY[${columns.map((column) => `found.${column}::text`).join(', ')}] AS _place
     FROM found JOIN ${table} AS r ON r.entity_id = $1 AND ${isFound(keys)}
     ORDER BY ${columns.map((column) => `found.${column}`).join(', ')}`, parameters);
  return rows.map((row) => {
    const place = row._place!;
    delete row._place;
    return { shown: row, place };
  });
}

/** Postgres wants to know the type of each parameter, also where a query is about users or devices only. */
const allOf = (found: string) => `(${found}) AS f WHERE ($2::text[], $3::text[]) IS NOT NULL`;

function isFound(keys: RowsOfPeople['keys']): string {
  return Object.keys(keys).map((column) => `r.${column} = found.${column}`).join(' AND ');
}
