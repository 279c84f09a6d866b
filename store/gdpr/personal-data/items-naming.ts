import type { Queryable } from '../../core/database.ts';
import { namedIn, type namesOf } from './named-in.ts';

/**
 * Those of some JSON values that name a person. They are read here, since Postgres refuses some of what JSON may hold.
 */
export async function itemsNaming<T>(
  db: Queryable,
  items: readonly T[],
  names: ReturnType<typeof namesOf>,
): Promise<T[]> {
  const { rows } = await db.query<{ ordinal: number }>(
    `SELECT ordinal FROM unnest($4::text[]) WITH ORDINALITY AS i (item, ordinal)
     WHERE $1::integer IS NOT NULL AND ${namedIn('item')} ORDER BY ordinal`,
    [...names, items.map((item) => JSON.stringify(item))],
  );
  return rows.map(({ ordinal }) => items[ordinal - 1]!);
}
