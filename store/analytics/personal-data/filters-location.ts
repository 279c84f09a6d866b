import { ERASED } from '../../../domain/core/erased.ts';
import { listFilterTexts, mapFilterTexts } from '../../../domain/analytics/filter-texts.ts';
import { type Database, type Queryable, write } from '../../core/database.ts';
import type { KnownBy, PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn, namesOf, peopleFinder } from '../../gdpr/personal-data/named-in.ts';
import { TextMatches } from '../../gdpr/personal-data/text-matches.ts';

type Filtered = {
  name: string;
  otherColumns: string[];
  /** What else becomes of a row whose filters change, as assignments. */
  assigns?: string;
};

/**
 * Values that filters compare with, in a table with the columns `id`, `identifier` and `filters`. What erasure leaves of one finds no
 * person, just as the erased person's own value does.
 */
export function filtersLocation({ name, otherColumns, assigns }: Filtered): PersonalDataLocation {
  return {
    name,
    columns: ['filters'],
    otherColumns,
    foundBy: 'the id in a value of an attribute or a detail of an event, as a filter names it',
    async count({ db }, entityId, people) {
      return (await Array.fromAsync(listNaming(db, name, entityId, people))).length;
    },
    async* export({ db }, entityId, people) {
      const matches = new TextMatches();
      for await (const { identifier, named } of listNaming(db, name, entityId, people)) matches.add(identifier, named.size);
      yield* matches.records();
    },
    async erase({ db, tally }, entityId, people) {
      let total = 0;
      for await (const { id } of listNaming(db, name, entityId, people)) {
        total += await write(db, async (tx) => {
          const { rows: [held] } = await tx.query<Pick<Naming, 'filters'>>(
            `SELECT filters FROM ${name} WHERE entity_id = $1 AND id = $2 FOR NO KEY UPDATE`, [entityId, id]);
          const named = held ? await listNamed(tx, entityId, people, held.filters) : new Set();
          if (named.size === 0) return 0;
          const filters = mapFilterTexts(held!.filters, (text) => (named.has(text) ? ERASED : text));
          await tx.query(
            `UPDATE ${name} SET ${['filters = $3', assigns].filter(Boolean).join(', ')} WHERE entity_id = $1 AND id = $2`,
            [entityId, id, JSON.stringify(filters)]);
          await tally?.(tx, 1);
          return 1;
        });
      }
      return total;
    },
  };
}

type Naming = { id: number; identifier: string; filters: unknown };

/** The rows of which a filter names one of them, with the texts that do. */
async function* listNaming(
  db: Database, table: string, entityId: number, people: KnownBy[],
): AsyncGenerator<Naming & { named: Set<string> }> {
  for (let after: number | null = 0; after !== null;) {
    // Along the primary key.
    const { rows }: { rows: Naming[] } = await db.query<Naming>(
      `SELECT id, identifier, filters FROM ${table} WHERE entity_id = $1 AND id > $2 AND filters IS NOT NULL ORDER BY id LIMIT ${PAGE}`,
      [entityId, after]);
    for (const row of rows) {
      const named = await listNamed(db, entityId, people, row.filters);
      if (named.size > 0) yield { ...row, named };
    }
    after = rows.length === PAGE ? rows.at(-1)!.id : null;
  }
}

const PAGE = 100;

/** Which texts of filters name one of them. Nearly all filters name no person, and cost no query. */
async function listNamed(db: Queryable, entityId: number, people: KnownBy[], filters: unknown): Promise<Set<string>> {
  const texts = listFilterTexts(filters);
  const find = peopleFinder(people);
  const candidates = new Set(texts.flatMap((text) => find(text)));
  if (candidates.size === 0) return new Set();
  const { rows } = await db.query<{ text: string }>(
    `SELECT text FROM unnest($4::text[]) AS given (text) WHERE $1::integer IS NOT NULL AND ${namedIn('text')}`,
    [...namesOf(entityId, [...candidates]), texts]);
  return new Set(rows.map(({ text }) => text));
}
