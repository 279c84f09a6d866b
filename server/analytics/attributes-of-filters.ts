import type { SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { listNamedAttributes } from '../../store/analytics/named-attributes.ts';
import type { Queryable } from '../../store/core/database.ts';

/** So many are written down one by one. */
const MAX_WRITTEN = 100;

/**
 * Gives the attributes that filters compare with, as the audit log keeps them: counts of such filters tell values of single people.
 * Nothing where there are none. Values aren't kept.
 */
export async function attributesOfFilters(
  db: Queryable, entityId: number, filters: SegmentFilters | null,
): Promise<{ attributes?: string }> {
  const named = filters ? await listNamedAttributes(db, entityId, filters) : [];
  if (named.length === 0) return {};
  const written = named.slice(0, MAX_WRITTEN).map(({ sor, key }) => `${sor} ${key}`).join(', ');
  return { attributes: named.length > MAX_WRITTEN ? `${written} and ${named.length - MAX_WRITTEN} more` : written };
}
