/** Providers' outcomes of an app's pushes by day, and the pushes that wait for them. */

import { type PushDayOutcome, TOKEN_GONE, type WaitReason, WAITS_FOR } from '../../domain/sends/attempt.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** SQL for what the provider said of an attempt; null: nothing. An erased person's details are gone. */
export const PUSH_OUTCOME = `CASE
    WHEN code = 'PUSH_SENT' THEN 'sent' WHEN code = 'REFUSED' THEN 'refused' WHEN code = 'UNKNOWN' THEN 'unknown'
    WHEN code = 'OPT_OUT' AND details = '${TOKEN_GONE}' THEN 'gone'
    WHEN code = 'MESSAGE_TO_BIG' AND provider IS NOT NULL THEN 'too_big'
    WHEN code = 'EXPIRED' AND (tries > 0 OR details IS NOT NULL) THEN 'expired' END`;

/** SQL for the provider's code of a refusal: the beginning of its details, if that is one. */
export const PROVIDER_CODE = `CASE WHEN code = 'REFUSED' THEN coalesce(substring(details from '^([A-Za-z0-9_.-]{1,64}): '), '') ELSE '' END`;

type OutcomeDay = Row<
  'push_outcome_days',
  'day' | 'provider' | 'providerCode' | 'attempts',
  { outcome: PushDayOutcome }
>;

/** Lists the counts of an app's days from one on, newest first. Uses push_outcome_days_by_app. */
export async function listPushOutcomes(
  db: Queryable,
  entityId: number,
  appId: number,
  since: string,
  limit: number,
): Promise<OutcomeDay[]> {
  return readRows<OutcomeDay>(
    await db.query(
      `SELECT day, provider, outcome, provider_code, sum(attempts)::bigint AS attempts FROM push_outcome_days
       WHERE entity_id = $1 AND app_id = $2 AND day >= $3::date
       GROUP BY day, provider, outcome, provider_code
       ORDER BY day DESC, attempts DESC, provider, outcome, provider_code LIMIT $4`,
      [entityId, appId, since, limit],
    ),
  );
}

export type WaitingPushes = { reason: WaitReason; count: number; nextAt: Date | null };

/** Counts an app's pushes that wait, up to `limit` of them. Uses sends_waiting, send_campaigns and attempts_open. */
export async function countWaitingPushes(
  db: Queryable,
  entityId: number,
  appId: number,
  limit: number,
): Promise<WaitingPushes[]> {
  return readRows<WaitingPushes>(
    await db.query(
      `SELECT CASE WHEN details = $4 THEN 'quiet_hours' WHEN details = $5 THEN 'send_rate' WHEN details IS NULL THEN 'due'
         ELSE 'provider' END AS reason, count(*) AS count, min(due_at) AS next_at
       FROM (
         SELECT a.details, a.due_at FROM sends s
         CROSS JOIN LATERAL (
           SELECT details, due_at FROM attempts
           WHERE entity_id = $1 AND send_id = s.id AND app_id = $2 AND state <> 'settled' LIMIT $3) a
         WHERE s.entity_id = $1 AND s.state IN ('accepted', 'running') AND EXISTS (
           SELECT FROM campaigns c WHERE c.entity_id = $1 AND c.app_id = $2 AND (c.id = s.campaign_id OR c.id IN (
             SELECT campaign_id FROM send_campaigns WHERE entity_id = $1 AND send_id = s.id)))
         LIMIT $3) waiting
       GROUP BY reason ORDER BY count DESC, reason`,
      [entityId, appId, limit, WAITS_FOR.quiet, WAITS_FOR.rate],
    ),
  );
}

/** Returns since when the provider has refused each push of an app, and with which code; null: it does not. */
export async function findProviderRefusal(
  db: Queryable,
  entityId: number,
  appId: number,
): Promise<Row<'provider_refusals', 'provider' | 'code' | 'since'> | null> {
  return readRow(
    await db.query('SELECT provider, code, since FROM provider_refusals WHERE entity_id = $1 AND app_id = $2', [
      entityId,
      appId,
    ]),
  );
}
