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

/** SQL of the rows of a table whose filters compare with one of the sensitive attributes: one pass over each. */
const comparingWithSensitive = (table: string): string => `${table} CROSS JOIN LATERAL
  jsonb_path_query(filters::jsonb, '$.** ? (@.filter_on == "attributes")') AS filter
  JOIN attributes a ON a.sor = filter ->> 'sor_identifier' AND a.key = filter ->> 'attribute_key'`;

/** SQL for whether the filters in a column name segments, or campaigns, by one of the `names` of a row `x`. */
const namesSegment = (filters: string): string =>
  `jsonb_path_exists(${filters}::jsonb, '$.** ? (@.filter_on == "segments" && @.segment_identifiers[*] == $names[*])', x.names)`;
const namesCampaign = (filters: string): string => `jsonb_path_exists(${filters}::jsonb,
  '$.** ? (@.filter_on == "campaigns" && (!(exists(@.campaign_identifiers[*])) || @.campaign_identifiers[*] == null
    || @.campaign_identifiers[*] == $names[*]))', x.names)`;
const NAMES_OF_SEGMENT = `jsonb_build_object('names', jsonb_build_array(s.identifier))`;
const NAMES_OF_CAMPAIGN = `jsonb_build_object('names', jsonb_build_array(c.identifier, c.api_identifier))`;

/** Lists the segments whose filters use a sensitive attribute, also through segments and campaigns that they name. */
export async function listSensitiveSegments(db: Queryable, entityId: number): Promise<number[]> {
  const { rows } = await db.query<Row<'systems_of_records', 'id'>>(
    `WITH RECURSIVE attributes AS MATERIALIZED (
       SELECT r.identifier AS sor, a.key
       FROM customer_attributes a JOIN systems_of_records r ON r.entity_id = a.entity_id AND r.id = a.sor_id
       WHERE a.entity_id = $1 AND a.is_sensitive AND a.deleted_at IS NULL),
     -- The first condition leaves all filters unread where there is no such attribute.
     filtered_segments AS MATERIALIZED (
       SELECT id, identifier, filters FROM segments WHERE EXISTS (SELECT FROM attributes) AND entity_id = $1 AND filters IS NOT NULL),
     filtered_campaigns AS MATERIALIZED (
       SELECT id, identifier, api_identifier, filters FROM campaigns
       WHERE EXISTS (SELECT FROM attributes) AND entity_id = $1 AND filters IS NOT NULL),
     sensitive AS (
       SELECT * FROM (
         SELECT true AS is_segment, s.id, ${NAMES_OF_SEGMENT} AS names FROM ${comparingWithSensitive('filtered_segments s')}
         UNION ALL
         SELECT false, c.id, ${NAMES_OF_CAMPAIGN} FROM ${comparingWithSensitive('filtered_campaigns c')}) direct
       UNION
       SELECT found.* FROM sensitive x CROSS JOIN LATERAL (
         SELECT true, s.id, ${NAMES_OF_SEGMENT} FROM filtered_segments s
         WHERE CASE WHEN x.is_segment THEN ${namesSegment('s.filters')} ELSE ${namesCampaign('s.filters')} END
         UNION ALL
         SELECT false, c.id, ${NAMES_OF_CAMPAIGN} FROM filtered_campaigns c
         WHERE CASE WHEN x.is_segment THEN ${namesSegment('c.filters')} ELSE ${namesCampaign('c.filters')} END) found)
     SELECT id FROM sensitive WHERE is_segment`,
    [entityId],
  );
  return rows.map(({ id }) => id);
}
