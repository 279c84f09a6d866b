import { eachFilter, type SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { listReached } from './erased-values.ts';

/** `sor`: the identifier of its System of Records. */
export type NamedAttribute = { sor: string; key: string; isSensitive: boolean };

/** Lists the attributes that filters compare with, also by way of the segments that they name; each once, by System of Records and key. */
export async function listNamedAttributes(
  db: Queryable, entityId: number, filters: readonly SegmentFilters[],
): Promise<NamedAttribute[]> {
  const own = filters.flatMap((one) => Array.from(eachFilter(one), ({ filter }) => filter));
  const segments = own.flatMap((filter) => (filter.filter_on === 'segments' ? filter.segment_identifiers : []));
  const reached = segments.length === 0 ? [] : await listReached(db, entityId, segments);
  const all = [...own, ...reached.flatMap((segment) => Array.from(eachFilter(segment.filters), ({ filter }) => filter))];
  const named = all.flatMap((filter) => (filter.filter_on === 'attributes' ? [filter] : []));
  if (named.length === 0) return [];
  return readRows<NamedAttribute>(await db.query(
    `SELECT DISTINCT s.identifier AS sor, a.key, a.is_sensitive
     FROM unnest($2::text[], $3::text[]) AS n (sor, key)
     JOIN systems_of_records s ON s.entity_id = $1 AND s.identifier = n.sor AND s.deleted_at IS NULL
     JOIN customer_attributes a ON a.entity_id = $1 AND a.sor_id = s.id AND a.key = n.key AND a.deleted_at IS NULL
     ORDER BY s.identifier, a.key`,
    [entityId, named.map((filter) => filter.sor_identifier), named.map((filter) => filter.attribute_key)]));
}

/** Lists the attributes that the filters compare with of all segments that name one, also by way of others. */
export async function listAttributesOfUsers(db: Queryable, entityId: number, segmentId: number): Promise<NamedAttribute[]> {
  const { rows } = await db.query<{ filters: SegmentFilters }>(
    `WITH RECURSIVE users AS (
       SELECT segment_id AS id FROM segment_uses WHERE entity_id = $1 AND used_segment_id = $2
       UNION SELECT u.segment_id FROM users JOIN segment_uses u ON u.entity_id = $1 AND u.used_segment_id = users.id)
     SELECT s.filters FROM users JOIN segments s ON s.entity_id = $1 AND s.id = users.id WHERE s.filters IS NOT NULL`,
    [entityId, segmentId]);
  return listNamedAttributes(db, entityId, rows.map((row) => row.filters));
}
