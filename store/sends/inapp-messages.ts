import type { InappContent } from '../../domain/campaigns/campaign-params.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { movePushToken } from '../tracking/devices.ts';

/**
 * A device that asks for its messages; `currentUserId`: who it says is logged in; `optOut`: of analytics, and so of
 * messages.
 */
type InappDevice = Row<'devices', 'appId' | 'deviceId' | 'currentUserId' | 'optOut'> & Row<'apps', 'verifiedUsers'>;

/** The device, of the app that saw it last. */
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

/** Bytes of messages that a device gets at once; the oldest message comes whatever its size. */
const LISTED_BYTES = 1024 ** 2;

/**
 * In-app messages that wait for the device, or for the user who is logged in on it, oldest first, at most `limit` and
 * about LISTED_BYTES; where analytics are opted out of, those of classic campaigns alone. Uses the index
 * attempts_by_device.
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

/**
 * Sets the user that the app's server vouched for on a device, with the push token that came with it: no other device
 * has this one then. Returns false, and changes nothing, if none came and the device has one for which no user token of
 * this user vouched: anybody with the app's key may have sent it.
 */
export async function updateVerifiedUser(
  tx: Tx,
  entityId: number,
  { appId, deviceId }: { appId: number; deviceId: string },
  userId: string,
  pushToken: string | null,
): Promise<boolean> {
  if (pushToken !== null) await movePushToken(tx, entityId, { appId, deviceId }, pushToken);
  const { rowCount } = await tx.query(
    `UPDATE devices SET verified_user_id = $4::text, verified_at = now(), push_token = coalesce($5::text, push_token),
       push_token_said_at = CASE WHEN $5::text IS NULL THEN push_token_said_at ELSE now() END, received_at = now()
     WHERE entity_id = $1 AND app_id = $2 AND device_id = $3
       AND ($5::text IS NOT NULL OR push_token IS NULL OR verified_user_id = $4::text)`,
    [entityId, appId, deviceId, userId, pushToken],
  );
  return rowCount === 1;
}
