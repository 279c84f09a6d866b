/** In-app messages that wait for a device. */

import type { InappContent } from '../../domain/campaigns/campaign-params.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** A device that asks. `currentUserId`: the user that it says is logged in. `optOut`: of analytics. */
type InappDevice = Row<'devices', 'appId' | 'deviceId' | 'currentUserId' | 'optOut'> & Row<'apps', 'verifiedUsers'>;

export async function findInappDevice(
  db: Queryable,
  entityId: number,
  appIds: readonly number[],
  deviceId: string,
): Promise<InappDevice | null> {
  return readRow<InappDevice>(
    await db.query(
      `SELECT d.app_id, d.device_id, d.current_user_id, d.opt_out, a.verified_users
     FROM devices d JOIN apps a ON a.entity_id = d.entity_id AND a.id = d.app_id
     WHERE d.entity_id = $1 AND d.app_id = ANY ($2) AND d.device_id = $3 ORDER BY d.last_seen_at DESC, d.app_id LIMIT 1`,
      [entityId, appIds, deviceId],
    ),
  );
}

export type InappMessage = Row<'attempts', 'id' | 'createdAt', { inappUntil: Date }> & {
  campaign: string;
  inapp: InappContent;
};

/** Maximum size of messages that a device gets at once; the oldest comes whatever its size. */
const LISTED_BYTES = 1024 ** 2;

/**
 * Lists a device's or its user's in-app messages, oldest first, at most `limit` and about LISTED_BYTES. A device that
 * opted out of analytics gets classic campaigns only. Uses the index attempts_by_device.
 */
export async function listInappMessages(
  db: Queryable,
  entityId: number,
  { appId, deviceId, currentUserId, optOut }: InappDevice,
  limit: number,
): Promise<InappMessage[]> {
  return readRows<InappMessage>(
    await db.query(
      `WITH waiting AS MATERIALIZED (
       SELECT a.id, coalesce(c.test_of, c.identifier) AS campaign, a.content -> 'inapp' AS inapp, a.created_at, a.inapp_until
       FROM attempts a JOIN campaigns c ON c.entity_id = a.entity_id AND c.id = a.campaign_id
       WHERE a.entity_id = $1 AND a.device_id = $2 AND a.app_id = $3 AND (a.user_id IS NULL OR a.user_id = $4)
         AND a.inapp_until > now() AND a.shown_at IS NULL AND a.content IS NOT NULL AND c.status NOT IN ('canceled', 'failed')
         AND ($6::boolean IS NOT TRUE OR c.type = 'classic')
       ORDER BY a.id LIMIT $5)
     SELECT id, campaign, inapp, created_at, inapp_until
     FROM (SELECT *, sum(octet_length(inapp::text)) OVER (ORDER BY id) - octet_length(inapp::text) AS bytes_before FROM waiting) AS sized
     WHERE bytes_before < ${LISTED_BYTES} ORDER BY id`,
      [entityId, deviceId, appId, currentUserId, limit, optOut],
    ),
  );
}
