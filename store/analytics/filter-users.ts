import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export type FilterUser = Row<'segments', 'identifier' | 'name'> & { kind: 'segment' | 'campaign' };

/** Lists at most `limit` users of a segment or campaign by an identifier. Reads all filters of the entity. */
export async function listFilterUsers(
  db: Queryable,
  entityId: number,
  identifiers: readonly string[],
  limit: number,
): Promise<FilterUser[]> {
  const isNamed = `entity_id = $1 AND identifier <> ALL ($2)
    AND EXISTS (SELECT FROM unnest($2::text[]) AS n (identifier) WHERE strpos(filters::text, '"' || n.identifier || '"') > 0)`;
  return readRows<FilterUser>(
    await db.query(
      `(SELECT 'segment' AS kind, identifier, name FROM segments WHERE ${isNamed} ORDER BY id LIMIT $3)
     UNION ALL (SELECT 'campaign', identifier, name FROM campaigns
       WHERE ${isNamed} AND status IN ('draft', 'scheduled', 'wait_sync', 'ongoing') ORDER BY id LIMIT $3)`,
      [entityId, identifiers, limit],
    ),
  );
}
