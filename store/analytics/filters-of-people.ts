/**
 * Builder of locations of filters and steps of funnels: finds which of their values mean a person, and removes these.
 */
import {
  type FilterValue,
  idTypeOfKey,
  isDistinctive,
  listFilterValues,
  removeFilterValues,
  type StoredFilters,
} from '../../domain/analytics/filter-values.ts';
import { readRows } from '../core/camel-row.ts';
import { type Queryable, type Tx, write } from '../core/database.ts';
import { namedIn, namesOf, peopleFinder } from '../gdpr/named-in.ts';
import { isVouchedFor } from '../gdpr/people-keys.ts';
import { type ErasingLocation, type KnownBy, withColumns } from '../gdpr/personal-data-location.ts';
import { TextMatches } from '../gdpr/texts-of-people.ts';
import { failWidened } from './erased-values.ts';
import { lockSegments } from './segments.ts';

type Filtered = FilterTable & {
  otherColumns: string;
  holds: string;
  erasedBy: string;
  /** Called with the rows whose filters change. */
  changed?: (tx: Tx, entityId: number, ids: readonly number[]) => Promise<void>;
};

/**
 * Values in filters and steps of funnels. Erasure removes those that mean a person (`meaningOf`). The rest stays, and
 * is listed in the request and the receipt (gdpr/kept-values.ts).
 */
export function filtersOfPeople({ name, column, otherColumns, holds, erasedBy, changed }: Filtered): ErasingLocation {
  const foundBy = 'a value that equals the id, if it [means the person](#values-of-filters)';
  return {
    ...withColumns({ name, columns: column, otherColumns, holds, foundBy, erasedBy }),
    async count({ db }, entityId, people) {
      const isPersons = await meaningOf(db, entityId, people);
      let rows = 0;
      for await (const page of listFilterPages(db, { name, column }, entityId)) {
        rows += page.filter(({ stored }) => listFilterValues(stored).some(isPersons)).length;
      }
      return rows;
    },
    async *export({ db }, entityId, people) {
      const matches = new TextMatches();
      for await (const page of listFilterPages(db, { name, column }, entityId)) {
        for (const { identifier, stored } of page) {
          const texts = listFilterValues(stored)
            .filter(({ on }) => on !== 'devices')
            .map(({ text }) => text);
          const named = await listNaming(db, entityId, people, texts);
          if (named.size > 0) matches.add(identifier, named.size);
        }
      }
      yield* matches.records();
    },
    async erase({ db, tally }, entityId, people) {
      const isPersons = await meaningOf(db, entityId, people);
      let total = 0;
      for await (const page of listFilterPages(db, { name, column }, entityId)) {
        const ids = page.filter(({ stored }) => listFilterValues(stored).some(isPersons)).map(({ id }) => id);
        if (ids.length === 0) continue;
        total += await write(db, async (tx) => {
          // Keeps others from naming these segments meanwhile.
          await lockSegments(tx, entityId);
          const changes = await removeValues(tx, { name, column }, entityId, ids, isPersons);
          await changed?.(tx, entityId, changes);
          if (changes.length > 0) await failWidened(tx, entityId);
          await tally?.(tx, changes.length);
          return changes.length;
        });
      }
      return total;
    },
  };
}

async function removeValues(
  tx: Tx,
  { name, column }: FilterTable,
  entityId: number,
  ids: readonly number[],
  isPersons: (value: FilterValue) => boolean,
): Promise<number[]> {
  const rows = readRows<StoredRow>(
    await tx.query(
      `SELECT id, identifier, ${column} AS stored FROM ${name} WHERE entity_id = $1 AND id = ANY ($2)
     ORDER BY id FOR NO KEY UPDATE`,
      [entityId, ids],
    ),
  );
  const changed = rows.filter(({ stored }) => stored !== null && listFilterValues(stored).some(isPersons));
  for (const { id, stored } of changed) {
    await tx.query(`UPDATE ${name} SET ${column} = $3 WHERE entity_id = $1 AND id = $2`, [
      entityId,
      id,
      JSON.stringify(removeFilterValues(stored, isPersons)),
    ]);
  }
  return changed.map(({ id }) => id);
}

/** A table with the columns `id` and `identifier` and a column of filters, or of steps of funnels. */
type FilterTable = { name: string; column: 'filters' | 'steps' };

type StoredRow = { id: number; identifier: string; stored: StoredFilters };

const PAGE = 100;

/** Yields the entity's rows with filters, along the primary key. */
export async function* listFilterPages(
  db: Queryable,
  { name, column }: FilterTable,
  entityId: number,
): AsyncGenerator<StoredRow[]> {
  for (let after: number | null = 0; after !== null;) {
    const page: StoredRow[] = readRows<StoredRow>(
      await db.query(
        `SELECT id, identifier, ${column} AS stored FROM ${name} WHERE entity_id = $1 AND id > $2 AND ${column} IS NOT NULL
       ORDER BY id LIMIT ${PAGE}`,
        [entityId, after],
      ),
    );
    yield page;
    after = page.length === PAGE ? page.at(-1)!.id : null;
  }
}

/**
 * Returns a rule for the values that mean one of the people. Under a key that holds ids by its name: ids of that type.
 * Under other keys: confirmed ids, if they are distinctive or staff marked the attribute as an identifier. So `FR` as a
 * country stays when the user FR is erased.
 */
export async function meaningOf(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<(value: FilterValue) => boolean> {
  const ids = idsWithTypes(people);
  const vouched = new Set(people.filter(isVouchedFor).map(({ customerId }) => customerId));
  const identifiers = await listIdentifierAttributes(db, entityId);
  return ({ on, sor, key, text }) => {
    const type = idTypeOfKey(key);
    if (on === 'devices') return false;
    if (type !== undefined) return ids.has(`${type} ${text}`);
    return vouched.has(text) && (isDistinctive(text) || (on === 'attributes' && identifiers.has(`${sor} ${key}`)));
  };
}

/** Returns the ids of people, each with its type before it. */
function idsWithTypes(people: readonly KnownBy[]): Set<string> {
  return new Set(people.map(({ customerType, customerId }) => `${customerType} ${customerId}`));
}

/** Returns the texts that name one of the people. Nearly all filters name none, and cost no query. */
export async function listNaming(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
  texts: readonly string[],
): Promise<Set<string>> {
  const find = peopleFinder(people);
  const candidates = new Set(texts.flatMap((text) => find(text)));
  if (candidates.size === 0) return new Set();
  const { rows } = await db.query<{ text: string }>(
    `SELECT text FROM unnest($4::text[]) AS given (text) WHERE $1::integer IS NOT NULL AND ${namedIn('text')}`,
    [...namesOf(entityId, [...candidates]), texts],
  );
  return new Set(rows.map(({ text }) => text));
}

/** Returns the attributes whose values are ids of people, each as its SoR's identifier, a space and its key. */
async function listIdentifierAttributes(db: Queryable, entityId: number): Promise<Set<string>> {
  const { rows } = await db.query<{ named: string }>(
    `SELECT s.identifier || ' ' || a.key AS named FROM customer_attributes a
     JOIN systems_of_records s ON s.entity_id = a.entity_id AND s.id = a.sor_id
     WHERE a.entity_id = $1 AND a.is_identifier AND a.deleted_at IS NULL`,
    [entityId],
  );
  return new Set(rows.map(({ named }) => named));
}
