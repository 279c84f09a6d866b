import { readRow, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { REPORT_DAYS } from '../sends/reports.ts';

/** SQL for the ids of copies of tests; $1 is the entity. Their attempts count nowhere. Uses campaigns_of_tests. */
export const TEST_COPIES = 'SELECT id FROM campaigns WHERE entity_id = $1 AND test_of IS NOT NULL';

/** Finds the campaign that a request tests; null if it tests none, or the campaign is no longer kept. */
export async function findTestedCampaign(db: Queryable, entityId: number, sendId: number): Promise<string | null> {
  const row = readRow<Row<'campaigns', never, { testOf: string }>>(
    await db.query(
      `SELECT c.test_of FROM send_campaigns s JOIN campaigns c ON c.entity_id = s.entity_id AND c.id = s.campaign_id
     WHERE s.entity_id = $1 AND s.send_id = $2 AND c.test_of IS NOT NULL`,
      [entityId, sendId],
    ),
  );
  return row?.testOf ?? null;
}

/** Deletes copies whose attempts are no longer kept. */
export async function deleteOldTests(db: Queryable, entityId: number): Promise<void> {
  await db.query(
    `DELETE FROM campaigns c
     WHERE c.entity_id = $1 AND c.test_of IS NOT NULL AND c.created_at < now() - interval '${REPORT_DAYS} days'
       AND NOT EXISTS (SELECT FROM attempts a WHERE a.entity_id = $1 AND a.campaign_id = c.id)`,
    [entityId],
  );
}
