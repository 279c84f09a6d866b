/** Builders of locations whose rows belong to one person each, with the person's id in a column. */
import { cursorRows } from '../core/cursor-rows.ts';
import { read, write } from '../core/database.ts';
import { changeRows, inBatches } from '../core/in-batches.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { hashesOf, idsOfType, knownToSors, peopleKeys, rowIdsOf } from './people-keys.ts';
import {
  BATCH,
  type ColumnsOfItsTable,
  countRows,
  type DescribedLocation,
  type ErasingLocation,
  type KnownBy,
  type LocationDependencies,
  type PersonalDataLocation,
  withColumns,
} from './personal-data-location.ts';

/** `shown`: the columns that an archive shows, as a SELECT lists them; the row is called `r`. */
type ShownRows = DescribedLocation & { shown: string };

export type RowsOfPeople = ShownRows & {
  /** The primary key behind the entity. */
  key: string;
  /** Query for the keys of people's rows, each once, from the parameters of `rowIdsOf`. */
  found: string;
  /** Columns that erasure sets in the row `r` instead of deleting it; $6 has the hashes of the users of $2. */
  emptied?: string;
};

/** Makes a location whose rows an indexed query finds, a batch in a transaction. */
export function rowsOfPeople<const D extends RowsOfPeople>(described: D & ColumnsOfItsTable<D>): ErasingLocation;
export function rowsOfPeople({ key, found, shown, emptied, ...described }: RowsOfPeople): ErasingLocation {
  const { name } = described;
  return {
    ...withColumns(described),
    count: ({ db }, entityId, people) =>
      read(db, (tx) => countRows(tx, allOf(found), rowIdsOf(entityId, people)), { settings: LOOK_UP_BY_KEY }),
    // In the order of the key: the records of an app follow those of another, by time.
    export: ({ db }, entityId, people) =>
      cursorRows(
        db,
        `SELECT ${shown} FROM (SELECT r.* FROM (SELECT * FROM ${allOf(found)} ORDER BY ${key} OFFSET 0) AS found
         JOIN ${name} AS r ON r.entity_id = $1 AND ${isFound(key)}) AS r`,
        rowIdsOf(entityId, people),
      ),
    erase: (deps, entityId, people) => {
      const ids = rowIdsOf(entityId, people);
      if (emptied === undefined) return changeFound(deps, `DELETE FROM ${name} AS r USING found`, { key, found }, ids);
      const hashes = idsOfType(people, 'user_id').map((id) =>
        deps.secrets.customerHash(entityId, 'user_id', id).toString('hex'),
      );
      return changeFound(deps, `UPDATE ${name} AS r SET ${emptied} FROM found`, { key, found }, [...ids, hashes]);
    },
  };
}

/** Changes rows in batches until few are left, each batch found anew. `change`: the statement up to its WHERE. */
export async function changeFound(
  { db, tally }: Pick<LocationDependencies, 'db' | 'tally'>,
  change: string,
  { key, found }: Pick<RowsOfPeople, 'key' | 'found'>,
  parameters: unknown[],
): Promise<number> {
  const statement = `WITH found AS MATERIALIZED (SELECT * FROM ${allOf(found)} LIMIT ${BATCH})
    ${change} WHERE r.entity_id = $1 AND ${isFound(key)}`;
  for (let total = 0; ;) {
    const changed = await write(db, (tx) => changeRows(tx, statement, parameters, tally), { settings: LOOK_UP_BY_KEY });
    total += changed;
    if (changed < BATCH) return total;
  }
}

/** A condition that finds any app of the entity. It lets a query use an index that has the app before the id. */
export const OF_ANY_APP = 'app_id = ANY (ARRAY(SELECT a.id FROM apps a WHERE a.entity_id = $1))';

/** Arrays of users and devices as columns hold them that name either in one text (`subjectOf`). */
export const USER_SUBJECTS = `ARRAY(SELECT 'u' || id FROM unnest($2::text[]) AS p (id))`;
export const DEVICE_SUBJECTS = `ARRAY(SELECT 'd' || id FROM unnest($3::text[]) AS p (id))`;
export const WHOLE_SUBJECTS = `ARRAY(SELECT 'd' || id FROM unnest($4::text[]) AS p (id))`;

/** Returns a query for people's rows, each once: of a device only rows without a user, unless it asks for all. */
export function byUserOrDevice(
  table: string,
  key: string,
  { device, devices, whole } = { device: 'device_id', devices: '$3', whole: '$4' },
): string {
  return `
  SELECT ${key} FROM ${table} WHERE entity_id = $1 AND user_id = ANY ($2)
  UNION ALL SELECT ${key} FROM ${table} WHERE entity_id = $1 AND ${device} = ANY (${devices}) AND user_id IS NULL
  UNION ALL SELECT ${key} FROM ${table} WHERE entity_id = $1 AND ${device} = ANY (${whole}) AND user_id IS NOT NULL AND user_id <> ALL ($2)`;
}

/** In `emptied`: the keyed hash of the row's user, if that user is erased. */
export const HASH_OF_USER = `coalesce((SELECT decode(p.hash, 'hex') FROM unnest($2::text[], $6::text[]) AS p (id, hash)
  WHERE p.id = r.user_id), r.user_hash)`;

type RowsOfCustomers = ShownRows & {
  /** The condition on the row `r`; without it, `customer_id` and `customer_type` decide. $1 is the entity. */
  where?: string;
  parameters?: (entityId: number, people: KnownBy[]) => unknown[];
  joins?: string;
  order?: string;
};

/** A condition. $3 holds types as codes. */
export const OF_CUSTOMERS = '(r.customer_id, r.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))';

/** Makes a location whose rows belong to one customer each; erasure deletes the rows. */
export function rowsOfCustomers<const D extends RowsOfCustomers>(described: D & ColumnsOfItsTable<D>): ErasingLocation;
export function rowsOfCustomers({
  where = OF_CUSTOMERS,
  parameters = (entityId, people) => peopleKeys(entityId, knownToSors(people)),
  shown,
  joins = '',
  order,
  ...described
}: RowsOfCustomers): ErasingLocation {
  const { name } = described;
  const condition = `WHERE r.entity_id = $1 AND ${where}`;
  return {
    ...withColumns(described),
    count: ({ db }, entityId, people) => countRows(db, `${name} r ${condition}`, parameters(entityId, people)),
    async *export({ db }, entityId, people) {
      const { rows } = await db.query(
        `SELECT ${shown} FROM ${name} r ${joins} ${condition} ${order === undefined ? '' : `ORDER BY ${order}`}`,
        parameters(entityId, people),
      );
      yield* rows;
    },
    erase: ({ db, tally }, entityId, people) =>
      inBatches(
        db,
        `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT r.ctid FROM ${name} r ${condition} LIMIT ${BATCH}))`,
        parameters(entityId, people),
        tally,
      ),
  };
}

type KeyedHashes = Omit<DescribedLocation, 'foundBy' | 'erasedBy'> & {
  /** A query from $1 the entity and $2 the hashes of people. */
  shown: string;
};

/** Makes a location that holds keyed hashes only: it names no person, and stays. */
export function keyedHashes<const D extends KeyedHashes>(described: D & ColumnsOfItsTable<D>): PersonalDataLocation;
export function keyedHashes({ shown, ...described }: KeyedHashes): PersonalDataLocation {
  return {
    ...withColumns({ ...described, foundBy: 'a keyed hash', erasedBy: 'never; it holds no id' }),
    count: async () => 0,
    async *export({ db, secrets }, entityId, people) {
      const { rows } = await db.query<Record<string, unknown>>(shown, [entityId, hashesOf(secrets, entityId, people)]);
      yield* rows;
    },
    erase: null,
  };
}

/** Postgres needs the type of each parameter, also in a query about users or devices only. */
const allOf = (found: string) => `(${found}) AS f WHERE ($2::text[], $3::text[], $4::text[], $5::text[]) IS NOT NULL`;

function isFound(key: string): string {
  return key
    .split(', ')
    .map((column) => `r.${column} = found.${column}`)
    .join(' AND ');
}
