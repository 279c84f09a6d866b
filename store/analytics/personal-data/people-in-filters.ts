import {
  type FilterValue,
  idTypeOfKey,
  isDistinctive,
  type StoredFilters,
} from '../../../domain/analytics/filter-values.ts';
import { listIdentifierAttributes } from '../../attributes/customer-attributes.ts';
import { readRows } from '../../core/camel-row.ts';
import type { Queryable } from '../../core/database.ts';
import { isVouchedFor } from '../../gdpr/people-keys.ts';
import type { KnownBy } from '../../gdpr/personal-data-location.ts';
import { namedIn, namesOf, peopleFinder } from '../../gdpr/personal-data/named-in.ts';

/** People in filters and in steps of funnels: which values mean one of them, and which texts name one. */

/** A table with the columns `id` and `identifier` and a column of filters, or of steps of funnels. */
export type FilterTable = { name: string; column: 'filters' | 'steps' };

export type StoredRow = { id: number; identifier: string; stored: StoredFilters };

const PAGE = 100;

/** All rows of the entity that have filters, along the primary key. */
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
 * Returns a rule for the values that mean one of the people. Under a key that holds ids by its name these are the ids
 * of its type; under any other key those that are vouched for, if they are distinctive or staff marked the attribute as
 * an identifier. `FR` as a country stays when the user FR is erased.
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

/** The ids of people, each behind its type. */
function idsWithTypes(people: readonly KnownBy[]): Set<string> {
  return new Set(people.map(({ customerType, customerId }) => `${customerType} ${customerId}`));
}

/** Which texts name one of them. Nearly all filters name no person, and cost no query. */
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
