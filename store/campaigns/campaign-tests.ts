import { type CreatorColumns, readRow, readRows, type Row } from '../core/camel-row.ts';
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

export type ListedTest = Row<'sends', 'id' | 'identifier' | 'state' | 'receivedAt'> &
  CreatorColumns & { sendId: number; resultCount: number };

/** Lists a campaign's tests whose attempts are kept, newest first. `id`: of the copy. Uses campaigns_by_tested. */
export async function listTests(
  db: Queryable,
  entityId: number,
  campaign: string,
  after: { id: number } | null,
  limit: number,
): Promise<ListedTest[]> {
  return readRows<ListedTest>(
    await db.query(
      `SELECT c.id, s.id AS send_id, s.identifier, s.state, s.received_at, u.id AS created_by, u.uid AS creator_uid,
       (SELECT count(*) FROM attempts a WHERE a.entity_id = $1 AND a.send_id = s.id) AS result_count
     FROM campaigns c JOIN send_campaigns l ON l.entity_id = c.entity_id AND l.campaign_id = c.id
     JOIN sends s ON s.entity_id = l.entity_id AND s.id = l.send_id LEFT JOIN users u ON u.id = s.created_by
     WHERE c.entity_id = $1 AND c.test_of = $2 AND ($3::bigint IS NULL OR c.id < $3)
       AND c.created_at >= now() - interval '${REPORT_DAYS} days'
     ORDER BY c.id DESC LIMIT $4`,
      [entityId, campaign, after?.id ?? null, limit],
    ),
  );
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
