import type { CountedCode } from '../../domain/campaigns/campaign-results.ts';
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/**
 * Messages of a code: of a day, of a variant (`''`: none), or of both null of the whole period, by `details` (`''`:
 * none).
 */
export type ResultRow = CountedCode & { day: string | null; variant: string | null; details: string | null };

/** Counts a campaign's messages by code, as of one moment, which is why all sums agree. Uses the primary key. */
export async function listResults(
  db: Queryable,
  entityId: number,
  campaignId: number,
  { from, till, variant }: { from: string; till: string; variant: string | null },
): Promise<ResultRow[]> {
  const sum = (column: string) => `sum(${column})::bigint AS`;
  return readRows<ResultRow>(
    await db.query(
      `SELECT day, variant, code, details, ${sum('attempts')} messages, ${sum('delivered')} delivered, ${sum('opened')} opened,
       ${sum('inapp')} inapp, ${sum('shown')} shown, ${sum('clicked')} clicked
     FROM campaign_days
     WHERE entity_id = $1 AND campaign_id = $2 AND day BETWEEN $3::date AND $4::date AND ($5::text IS NULL OR variant = $5)
     GROUP BY GROUPING SETS ((code, details), (day, code), (variant, code)) ORDER BY day, variant, code, details`,
      [entityId, campaignId, from, till, variant],
    ),
  );
}
