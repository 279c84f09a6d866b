/** Reports of attempts: codes, decisions, and campaign logs. */

import type { PushContent } from '../../domain/campaigns/campaign-params.ts';
import type { AttemptCode } from '../../domain/sends/attempt.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export const REPORT_DAYS = 30;

type ReportRow = Row<'attempts', 'userId' | 'deviceId' | 'createdAt' | 'settledAt' | 'details', { code: AttemptCode }>;

type ReportFilter = {
  campaignId: number;
  sendId: number | null;
  from: Date;
  until: Date;
  offset: number;
  limit: number;
};

/** Lists a campaign's attempts of a period, oldest first. Uses the primary key, or attempts_by_send. */
export async function listReport(
  db: Queryable,
  entityId: number,
  { campaignId, sendId, from, until, offset, limit }: ReportFilter,
): Promise<ReportRow[]> {
  return readRows<ReportRow>(
    await db.query(
      `SELECT user_id, device_id, created_at, settled_at, code, details FROM attempts
     WHERE entity_id = $1 AND campaign_id = $2 AND ($3::integer IS NULL OR send_id = $3) AND created_at >= $4 AND created_at < $5
     ORDER BY id OFFSET $6 LIMIT $7`,
      [entityId, campaignId, sendId, from, until, offset, limit],
    ),
  );
}

export async function countCodes(
  db: Queryable,
  entityId: number,
  sendId: number,
): Promise<{ codes: Record<string, number>; nextAt: Date | null }> {
  const rows = readRows<Row<'attempts', 'code'> & { count: number; nextAt: Date | null }>(
    await db.query(
      `SELECT code, count(*) AS count, min(due_at) FILTER (WHERE due_at > now()) AS next_at FROM attempts
     WHERE entity_id = $1 AND send_id = $2
     GROUP BY code ORDER BY code`,
      [entityId, sendId],
    ),
  );
  return {
    codes: Object.fromEntries(rows.map(({ code, count }) => [code, count])),
    nextAt: rows.find(({ nextAt: at }) => at !== null)?.nextAt ?? null,
  };
}

export type Decision = ReportRow &
  Row<'attempts', 'variant' | 'channel' | 'dueAt' | 'deliveredAt' | 'openedAt' | 'shownAt' | 'clickedAt'> & {
    sendIdentifier: string | null;
    push: PushContent | null;
  };

const DECISIONS = `SELECT a.user_id, a.device_id, a.created_at, a.settled_at, a.code, a.details, a.channel, a.variant, a.due_at,
    a.delivered_at, a.opened_at, a.shown_at, a.clicked_at, s.identifier AS send_identifier,
    CASE WHEN NOT c.is_sensitive AND (NOT c.has_profile_values OR $3) THEN a.content -> 'push' END AS push
  FROM attempts a JOIN campaigns c ON c.entity_id = a.entity_id AND c.id = a.campaign_id
  LEFT JOIN sends s ON s.entity_id = a.entity_id AND s.id = a.send_id AND s.campaign_id IS NULL`;

/**
 * Lists the attempts of a campaign's messages to a user, newest first; or those of a request's messages, in order.
 * `showsValues`: also shows what pushes with values of a profile said.
 */
export async function listDecisions(
  db: Queryable,
  entityId: number,
  of: { campaignId: number; userId: string } | { sendId: number },
  { limit, showsValues }: { limit: number; showsValues: boolean },
): Promise<Decision[]> {
  // Uses the index attempts_by_send, or attempts_by_user.
  const [found, values] =
    'sendId' in of
      ? ['a.send_id = $4 ORDER BY a.message_ordinal, a.id', [of.sendId]]
      : ['a.user_id = $4 AND a.campaign_id = $5 ORDER BY a.id DESC', [of.userId, of.campaignId]];
  return readRows<Decision>(
    await db.query(`${DECISIONS} WHERE a.entity_id = $1 AND ${found} LIMIT $2`, [
      entityId,
      limit,
      showsValues,
      ...values,
    ]),
  );
}

/** Counts a campaign's pushes to a user, and the opened ones: of kept attempts, and of those that are only counted. */
export async function countSentTo(
  db: Queryable,
  entityId: number,
  campaignId: number,
  userId: string,
): Promise<{ sent: number; opened: number }> {
  const { rows } = await db.query<{ sent: number; opened: number }>(
    `SELECT coalesce(sum(sent), 0)::integer AS sent, coalesce(sum(opened), 0)::integer AS opened FROM (
       SELECT count(*) FILTER (WHERE code = 'PUSH_SENT') AS sent, count(opened_at) AS opened FROM attempts
       WHERE entity_id = $1 AND user_id = $3 AND campaign_id = $2
       UNION ALL
       SELECT sent, opened FROM campaign_people WHERE entity_id = $1 AND campaign_id = $2 AND person = 'u' || $3) counted`,
    [entityId, campaignId, userId],
  );
  return rows[0]!;
}
