import type { Queryable } from '../core/database.ts';

/** Returns those of some tables in which the entity has a row: by their keys, which begin with the entity. */
export async function listOccupiedTables(db: Queryable, entityId: number, names: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
     WHERE c.relkind IN ('r', 'p') AND c.relname = ANY ($1)`,
    [names],
  );
  if (rows.length === 0) return [];
  const { rows: occupied } = await db.query<{ name: string }>(
    rows
      .map(({ name }) => `SELECT '${name}' AS name WHERE EXISTS (SELECT FROM "${name}" WHERE entity_id = $1)`)
      .join(' UNION ALL '),
    [entityId],
  );
  return occupied.map(({ name }) => name);
}
