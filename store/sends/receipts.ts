import type { ReceiptKind } from '../../domain/sends/receipt.ts';
import type { Queryable } from '../core/database.ts';
import { REPORT_DAYS } from './reports.ts';

/** What a device tells of an attempt, and when; `at`: ISO. */
export type Receipt = { appId: number; deviceId: string; attemptId: number; kind: ReceiptKind; at: string };

const MAY_BE_SENT = `(a.channel <> 'inapp' AND (a.state = 'sending' OR a.code IN ('PUSH_SENT', 'UNKNOWN')))`;
const IS_GIVEN = 'a.inapp_until IS NOT NULL';

/**
 * Notes what devices tell of their own messages, each thing once: the first time counts. An opened push was delivered,
 * a clicked in-app message shown. A device tells of no other's attempt, of none that reports no longer have, and of no
 * push that was never sent or in-app message that it was never given. By attempts_by_device.
 */
export async function updateReceipts(tx: Queryable, entityId: number, receipts: readonly Receipt[]): Promise<void> {
  if (receipts.length === 0) return;
  const first = (...kinds: ReceiptKind[]) =>
    `min(at) FILTER (WHERE kind IN (${kinds.map((kind) => `'${kind}'`).join(', ')}))`;
  await tx.query(
    `WITH told AS MATERIALIZED (
       SELECT app_id, device_id, attempt_id, ${first('delivered', 'opened')} AS delivered_at, ${first('opened')} AS opened_at,
         ${first('shown', 'clicked')} AS shown_at, ${first('clicked')} AS clicked_at
       FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::text[], $6::timestamptz[])
         AS given (app_id, device_id, attempt_id, kind, at)
       GROUP BY app_id, device_id, attempt_id
     ), held AS (
       SELECT a.campaign_id, a.id, CASE WHEN ${MAY_BE_SENT} THEN t.delivered_at END AS delivered_at,
         CASE WHEN ${MAY_BE_SENT} THEN t.opened_at END AS opened_at, CASE WHEN ${IS_GIVEN} THEN t.shown_at END AS shown_at,
         CASE WHEN ${IS_GIVEN} THEN t.clicked_at END AS clicked_at
       FROM attempts a JOIN told t ON t.device_id = a.device_id COLLATE "C" AND t.attempt_id = a.id
       WHERE a.entity_id = $1 AND a.app_id = t.app_id AND a.created_at > now() - interval '${REPORT_DAYS} days'
       ORDER BY a.campaign_id, a.id FOR NO KEY UPDATE OF a)
     UPDATE attempts a SET delivered_at = coalesce(a.delivered_at, h.delivered_at), opened_at = coalesce(a.opened_at, h.opened_at),
       shown_at = coalesce(a.shown_at, h.shown_at), clicked_at = coalesce(a.clicked_at, h.clicked_at), changed_at = now(),
       content = CASE WHEN c.is_sensitive AND h.shown_at IS NOT NULL AND a.state = 'settled' THEN NULL ELSE a.content END
     FROM held h JOIN campaigns c ON c.entity_id = $1 AND c.id = h.campaign_id
     WHERE a.entity_id = $1 AND a.campaign_id = h.campaign_id AND a.id = h.id
       AND ((a.delivered_at IS NULL AND h.delivered_at IS NOT NULL) OR (a.opened_at IS NULL AND h.opened_at IS NOT NULL)
         OR (a.shown_at IS NULL AND h.shown_at IS NOT NULL) OR (a.clicked_at IS NULL AND h.clicked_at IS NOT NULL))`,
    [
      entityId,
      receipts.map(({ appId }) => appId),
      receipts.map(({ deviceId }) => deviceId),
      receipts.map(({ attemptId }) => attemptId),
      receipts.map(({ kind }) => kind),
      receipts.map(({ at }) => at),
    ],
  );
}
