/** Attributes that filters compare with, and the segments and campaigns that use them. */

import { eachFilter, type SegmentFilter, type SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { listReached } from './filters-of-people.ts';

type NamedAttribute = Row<'customer_attributes', 'key' | 'isSensitive'> & { sor: string };

/** Lists the attributes in filters, also through named segments and campaigns, each once. */
export async function listNamedAttributes(
  db: Queryable,
  entityId: number,
  filters: readonly SegmentFilters[],
): Promise<NamedAttribute[]> {
  const all = await listAllFilters(db, entityId, filters);
  const named = all.flatMap((filter) => (filter.filter_on === 'attributes' ? [filter] : []));
  if (named.length === 0) return [];
  return readRows<NamedAttribute>(
    await db.query(
      `SELECT DISTINCT s.identifier AS sor, a.key, a.is_sensitive
     FROM unnest($2::text[], $3::text[]) AS n (sor, key)
     JOIN systems_of_records s ON s.entity_id = $1 AND s.identifier = n.sor AND s.deleted_at IS NULL
     JOIN customer_attributes a ON a.entity_id = $1 AND a.sor_id = s.id AND a.key = n.key AND a.deleted_at IS NULL
     ORDER BY s.identifier, a.key`,
      [entityId, named.map((filter) => filter.sor_identifier), named.map((filter) => filter.attribute_key)],
    ),
  );
}

async function listAllFilters(
  db: Queryable,
  entityId: number,
  given: readonly SegmentFilters[],
): Promise<SegmentFilter[]> {
  const all: SegmentFilter[] = [];
  const seen = new Set<string>();
  for (let blocks = given; blocks.length > 0;) {
    const found = blocks.flatMap((one) => Array.from(eachFilter(one), ({ filter }) => filter));
    all.push(...found);
    const segments = found.flatMap((filter) => (filter.filter_on === 'segments' ? filter.segment_identifiers : []));
    const campaigns = found.flatMap((filter) =>
      filter.filter_on === 'campaigns' ? (filter.campaign_identifiers ?? [ALL]) : [],
    );
    const reached = [
      ...(segments.length === 0
        ? []
        : await listReached(
            db,
            entityId,
            segments.filter((identifier) => !seen.has(identifier)),
          )),
      ...(await listFiltersOfCampaigns(db, entityId, campaigns)),
    ].filter(({ identifier }) => !seen.has(identifier));
    for (const { identifier } of reached) seen.add(identifier);
    blocks = reached.map(({ filters }) => filters);
  }
  return all;
}

const ALL = '*';

async function listFiltersOfCampaigns(
  db: Queryable,
  entityId: number,
  identifiers: readonly string[],
): Promise<{ identifier: string; filters: SegmentFilters }[]> {
  if (identifiers.length === 0) return [];
  const { rows } = await db.query<Row<'campaigns', 'identifier', { filters: SegmentFilters }>>(
    `SELECT identifier, filters FROM campaigns
     WHERE entity_id = $1 AND filters IS NOT NULL AND ($3 OR identifier = ANY ($2) OR api_identifier = ANY ($2))`,
    [entityId, identifiers, identifiers.includes(ALL)],
  );
  return rows;
}

/** Lists the attributes in filters of all segments and open campaigns that name one, also through others. */
export async function listAttributesOfUsers(
  db: Queryable,
  entityId: number,
  segmentId: number,
): Promise<NamedAttribute[]> {
  const { rows } = await db.query<Row<'campaigns', never, { filters: SegmentFilters }>>(
    `WITH RECURSIVE users AS (
       SELECT $2::integer AS id
       UNION SELECT u.segment_id FROM users JOIN segment_uses u ON u.entity_id = $1 AND u.used_segment_id = users.id),
     named AS (SELECT s.id, s.identifier, s.filters FROM users JOIN segments s ON s.entity_id = $1 AND s.id = users.id)
     SELECT filters FROM named WHERE id <> $2 AND filters IS NOT NULL
     UNION ALL
     SELECT c.filters FROM campaigns c
     WHERE c.entity_id = $1 AND c.filters IS NOT NULL AND c.status IN ('draft', 'scheduled', 'wait_sync', 'ongoing')
       AND EXISTS (SELECT FROM named n WHERE strpos(c.filters::text, '"' || n.identifier || '"') > 0)`,
    [entityId, segmentId],
  );
  return listNamedAttributes(
    db,
    entityId,
    rows.map((row) => row.filters),
  );
}

/** Lists the segments whose filters use a sensitive attribute, also through segments that they name. */
export async function listSensitiveSegments(db: Queryable, entityId: number): Promise<number[]> {
  const { rows } = await db.query<Row<'systems_of_records', 'id'>>(
    `WITH RECURSIVE attributes AS MATERIALIZED (
       SELECT jsonb_build_object('sor', r.identifier, 'key', a.key) AS named
       FROM customer_attributes a JOIN systems_of_records r ON r.entity_id = a.entity_id AND r.id = a.sor_id
       WHERE a.entity_id = $1 AND a.is_sensitive AND a.deleted_at IS NULL),
     sensitive AS (
       SELECT s.id FROM segments s
       -- The first condition leaves all filters unread where there is no such attribute.
       WHERE EXISTS (SELECT FROM attributes) AND s.entity_id = $1 AND s.filters IS NOT NULL AND EXISTS (
         SELECT FROM attributes WHERE jsonb_path_exists(s.filters::jsonb,
           '$.** ? (@.filter_on == "attributes" && @.sor_identifier == $sor && @.attribute_key == $key)', named))
       UNION SELECT u.segment_id FROM sensitive JOIN segment_uses u ON u.entity_id = $1 AND u.used_segment_id = sensitive.id)
     SELECT id FROM sensitive`,
    [entityId],
  );
  return rows.map(({ id }) => id);
}
