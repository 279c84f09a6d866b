/** Reports of attempts: codes, decisions, and campaign logs. */

import type { PushContent } from '../../domain/campaigns/campaign-params.ts';
import { type AttemptCode, SENT_CODES, type SentOutcome } from '../../domain/sends/attempt.ts';
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

export type CodeCounts = Record<string, { count: number; confirmed: number }>;

/** SQL for whether a device has confirmed the push: opened ones were delivered, and the in-app message says nothing. */
const CONFIRMED = '(delivered_at IS NOT NULL)';

/** Counts the attempts of sends by code, and says when the next waiting one is due. Uses attempts_by_send. */
export async function countCodes(
  db: Queryable,
  entityId: number,
  sendIds: readonly number[],
): Promise<(sendId: number) => { counts: CodeCounts; nextAt: Date | null }> {
  const rows = readRows<
    Row<'attempts', 'code'> & { sendId: number; count: number; confirmed: number; nextAt: Date | null }
  >(
    await db.query(
      `SELECT send_id, code, count(*) AS count, count(*) FILTER (WHERE ${CONFIRMED}) AS confirmed,
       min(due_at) FILTER (WHERE due_at > now()) AS next_at
     FROM attempts WHERE entity_id = $1 AND send_id = ANY ($2::integer[])
     GROUP BY send_id, code ORDER BY code`,
      [entityId, sendIds],
    ),
  );
  return (sendId) => {
    const own = rows.filter((row) => row.sendId === sendId);
    return {
      counts: Object.fromEntries(own.map(({ code, count, confirmed }) => [code, { count, confirmed }])),
      nextAt: own.find(({ nextAt: at }) => at !== null)?.nextAt ?? null,
    };
  };
}

export type SentDecision = Row<
  'attempts',
  | 'id'
  | 'userId'
  | 'deviceId'
  | 'channel'
  | 'variant'
  | 'details'
  | 'createdAt'
  | 'dueAt'
  | 'settledAt'
  | 'deliveredAt'
  | 'openedAt'
  | 'shownAt'
  | 'clickedAt',
  { code: AttemptCode }
> & { ordinal: number; campaignIdentifier: string };

type DecisionFilter = { code: AttemptCode | undefined; outcome: SentOutcome | undefined };

const OUTCOME_SQL: Record<SentOutcome, string> = {
  confirmed: `code = ANY ('{${SENT_CODES.join()}}') AND ${CONFIRMED}`,
  taken: `code = 'PUSH_SENT' AND NOT ${CONFIRMED}`,
  unknown: `code = 'UNKNOWN' AND NOT ${CONFIRMED}`,
  refused: `code = 'REFUSED' AND NOT ${CONFIRMED}`,
  not_sent: `code <> ALL ('{${SENT_CODES.join()}}')`,
};

/** Lists what became of a request's messages, in their order, after a message and an attempt. Uses attempts_by_send. */
export async function listSentDecisions(
  db: Queryable,
  entityId: number,
  sendId: number,
  { code, outcome }: DecisionFilter,
  { after, limit }: { after: { ordinal: number; id: number }; limit: number },
): Promise<SentDecision[]> {
  return readRows<SentDecision>(
    await db.query(
      `SELECT a.*, coalesce(c.test_of, c.identifier) AS campaign_identifier FROM (
         SELECT id, campaign_id, message_ordinal AS ordinal, user_id, device_id, channel, variant, code, details, created_at, due_at,
           settled_at, delivered_at, opened_at, shown_at, clicked_at
         FROM attempts
         WHERE entity_id = $1 AND send_id = $2 AND message_ordinal >= $3::bigint AND (message_ordinal, id) > ($3, $4)
           AND ($5::text IS NULL OR code = $5) ${outcome === undefined ? '' : `AND ${OUTCOME_SQL[outcome]}`}
         ORDER BY message_ordinal, id LIMIT $6) a
       JOIN campaigns c ON c.entity_id = $1 AND c.id = a.campaign_id
       ORDER BY a.ordinal, a.id`,
      [entityId, sendId, after.ordinal, after.id, code ?? null, limit],
    ),
  );
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
 * Lists the attempts of a campaign's messages to a user or a device, newest first; or those of a request, in order.
 * `showsValues`: also shows what pushes with values of a profile said.
 */
export async function listDecisions(
  db: Queryable,
  entityId: number,
  of: { campaignId: number; userId: string } | { campaignId: number; deviceId: string } | { sendId: number },
  { limit, showsValues }: { limit: number; showsValues: boolean },
): Promise<Decision[]> {
  // Uses the index attempts_by_send, attempts_by_user or attempts_by_device.
  const [found, values] =
    'sendId' in of
      ? ['a.send_id = $4 ORDER BY a.message_ordinal, a.id', [of.sendId]]
      : 'userId' in of
        ? ['a.user_id = $4 AND a.campaign_id = $5 ORDER BY a.id DESC', [of.userId, of.campaignId]]
        : ['a.device_id = $4 AND a.campaign_id = $5 ORDER BY a.id DESC', [of.deviceId, of.campaignId]];
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
