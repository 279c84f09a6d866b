/** Values that an erasure leaves though they equal an id, such as the filter `country is FR`: lists them for staff. */
import { type FilterValue, isDistinctive, listFilterValues } from '../../domain/analytics/filter-values.ts';
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import { listFilterPages, listNaming, meaningOf } from '../analytics/filters-of-people.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { listHoldsNaming } from './holds.ts';
import { isVouchedFor } from './people-keys.ts';
import type { KnownBy } from './personal-data-location.ts';
import type { GdprRequest } from './request-record.ts';
import { listUnreadableMails } from './unreadable-mails.ts';

/**
 * Adds to the request what the erasure leaves in filters, in reasons of holds, and in unreadable mails. Returns these.
 * `tx` holds the request.
 */
export async function recordKeptValues(
  tx: Tx,
  { entityId, id, keptValues: before }: GdprRequest,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  // Mails are not searched for ids that are not vouched for.
  const unreadable = people.some(isVouchedFor) ? await listUnreadableMails(tx) : [];
  const holds = await listHoldsNaming(tx, entityId, people);
  const kept = [...(await listKeptValues(tx, entityId, people)), ...holds, ...unreadable];
  const all = new Map(
    [...before, ...kept].map((value) => [JSON.stringify([value.place, value.object, value.on, value.key]), value]),
  );
  if (kept.length > 0) {
    await tx.query('UPDATE gdpr_requests SET kept_values = $3 WHERE entity_id = $1 AND id = $2', [
      entityId,
      id,
      JSON.stringify([...all.values()]),
    ]);
  }
  return kept;
}

const TABLES = [
  { name: 'segments', column: 'filters' },
  { name: 'campaigns', column: 'filters' },
  { name: 'funnels', column: 'steps' },
] as const;

/** Maximum number of objects and keys that a receipt lists. */
const MAX_KEPT_VALUES = 200;

/**
 * Lists which objects hold such values, and under which key, at most MAX_KEPT_VALUES. A key that holds an id is null.
 */
export async function listKeptValues(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  const kept: KeptValue[] = [];
  const findKept = await keptOf(db, entityId, people);
  const ids = new Set(people.filter(isVouchedFor).map(({ customerId }) => customerId));
  for (const table of TABLES) {
    for await (const page of listFilterPages(db, table, entityId)) {
      for (const { identifier: object, stored } of page) {
        const values = await findKept(listFilterValues(stored));
        for (const [named, same] of Map.groupBy(values, ({ on, key }) => `${on} ${key}`)) {
          if (kept.length === MAX_KEPT_VALUES) return kept;
          const { on, key } = same[0]!;
          const isNaming = ids.has(key) || (await listNaming(db, entityId, people, [named])).size > 0;
          kept.push({ place: table.name, object, on, key: isNaming ? null : key, values: same.length });
        }
      }
    }
  }
  return kept;
}

/**
 * Returns a function that finds the values that equal an id, or hold a distinctive one among other words, of ids that
 * are vouched for.
 */
async function keptOf(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<(values: readonly FilterValue[]) => Promise<FilterValue[]>> {
  const isErased = await meaningOf(db, entityId, people);
  const ids = new Set(people.filter(isVouchedFor).map(({ customerId }) => customerId));
  const distinctive = people.filter(({ customerId }) => isDistinctive(customerId));
  return async (values) => {
    const named = await listNaming(
      db,
      entityId,
      distinctive,
      values.map(({ text }) => text),
    );
    return values.filter((value) => !isErased(value) && (ids.has(value.text) || named.has(value.text)));
  };
}
