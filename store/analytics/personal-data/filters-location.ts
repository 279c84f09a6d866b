import { type FilterValue, listFilterValues, removeFilterValues } from '../../../domain/analytics/filter-values.ts';
import { readRows } from '../../core/camel-row.ts';
import { type Tx, write } from '../../core/database.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { TextMatches } from '../../gdpr/personal-data/text-matches.ts';
import { failWidened } from '../erased-values.ts';
import { type FilterTable, listFilterPages, listNaming, meaningOf, type StoredRow } from './people-in-filters.ts';
import { lockSegments } from '../segments.ts';

type Filtered = FilterTable & {
  otherColumns: string[];
  holds: string;
  erasedBy: string;
  /** What else becomes of rows whose filters change. */
  changed?: (tx: Tx, entityId: number, ids: readonly number[]) => Promise<void>;
};

/**
 * Values that filters and steps of funnels compare with. Erasure removes those that mean a person (`meaningOf`). The
 * rest stays, and is listed in the request and the receipt (gdpr/kept-values.ts).
 */
export function filtersLocation({
  name,
  column,
  otherColumns,
  holds,
  erasedBy,
  changed,
}: Filtered): PersonalDataLocation {
  return {
    name,
    columns: [column],
    otherColumns,
    holds,
    foundBy: 'a value that equals the id, if it [means the person](#values-of-filters)',
    erasedBy,
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
          // Nothing names what changes here meanwhile.
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
