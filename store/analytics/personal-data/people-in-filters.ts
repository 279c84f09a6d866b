import { type FilterValue, isDistinctive, isIdKey, type StoredFilters } from '../../../domain/analytics/filter-values.ts';
import { listIdentifierAttributes } from '../../attributes/customer-attributes.ts';
import { readRows } from '../../core/camel-row.ts';
import type { Queryable } from '../../core/database.ts';
import type { KnownBy } from '../../gdpr/personal-data-location.ts';
import { namedIn, namesOf, peopleFinder } from '../../gdpr/personal-data/named-in.ts';

/** People in filters and in steps of funnels: which values mean one of them, and which texts name one. */

/** A table with the columns `id` and `identifier` and a column of filters, or of steps of funnels. */
export type FilterTable = { name: string; column: 'filters' | 'steps' };

export type StoredRow = { id: number; identifier: string; stored: StoredFilters };

const PAGE = 100;

/** All rows of the entity that have filters, along the primary key. */
export async function* listFilterPages(
  db: Queryable, { name, column }: FilterTable, entityId: number,
): AsyncGenerator<StoredRow[]> {
  for (let after: number | null = 0; after !== null;) {
    const page: StoredRow[] = readRows<StoredRow>(await db.query(
      `SELECT id, identifier, ${column} AS stored FROM ${name} WHERE entity_id = $1 AND id > $2 AND ${column} IS NOT NULL
       ORDER BY id LIMIT ${PAGE}`, [entityId, after]));
    yield page;
    after = page.length === PAGE ? page.at(-1)!.id : null;
  }
}

/**
 * Returns a rule for the values that mean one of the people: they equal an id, and are distinctive or values of an
 * identifier, which a key is by its name or since staff marked the attribute. `FR` as a country stays when the user FR is
 * erased.
 */
export async function meaningOf(
  db: Queryable, entityId: number, people: readonly KnownBy[],
): Promise<(value: FilterValue) => boolean> {
  const ids = new Set(people.map(({ customerId }) => customerId));
  const identifiers = await listIdentifierAttributes(db, entityId);
  return ({ on, sor, key, text }) => on !== 'devices' && ids.has(text) && (
    isDistinctive(text) || isIdKey(key) || (on === 'attributes' && identifiers.has(`${sor} ${key}`)));
}

/** Which texts name one of them. Nearly all filters name no person, and cost no query. */
export async function listNaming(
  db: Queryable, entityId: number, people: readonly KnownBy[], texts: readonly string[],
): Promise<Set<string>> {
  const find = peopleFinder(people);
  const candidates = new Set(texts.flatMap((text) => find(text)));
  if (candidates.size === 0) return new Set();
  const { rows } = await db.query<{ text: string }>(
    `SELECT text FROM unnest($4::text[]) AS given (text) WHERE $1::integer IS NOT NULL AND ${namedIn('text')}`,
    [...namesOf(entityId, [...candidates]), texts]);
  return new Set(rows.map(({ text }) => text));
}
