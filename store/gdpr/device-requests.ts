import {
  type GdprRequest, type GdprRequestRow, type GdprRequestState, type GdprRequestType, toGdprRequest, UNDER_WAY,
} from './request-record.ts';
import type { Queryable, Tx } from '../database.ts';

/** A device as it asks: one that any of the apps knows. */
export type AskingDevice = { appId: number; deviceId: string; lastUserId: string | null; gdprEmails: string[]; gdprApproval: boolean };

/** Holds the device, of the app that saw it last, so that it asks for one thing at a time. */
export async function lockAskingDevice(tx: Tx, entityId: number, appIds: number[], deviceId: string): Promise<AskingDevice | null> {
  const { rows } = await tx.query<{ app_id: number; last_user_id: string | null; gdpr_emails: string[]; gdpr_approval: boolean }>(
    `SELECT d.app_id, d.last_user_id, a.gdpr_emails, a.gdpr_approval
     FROM devices d JOIN apps a ON a.entity_id = d.entity_id AND a.id = d.app_id
     WHERE d.entity_id = $1 AND d.app_id = ANY ($2) AND d.device_id = $3
     ORDER BY d.last_seen_at DESC, d.app_id LIMIT 1 FOR NO KEY UPDATE OF d`, [entityId, appIds, deviceId]);
  const [row] = rows;
  return row
    ? { appId: row.app_id, deviceId, lastUserId: row.last_user_id, gdprEmails: row.gdpr_emails, gdprApproval: row.gdpr_approval }
    : null;
}

/**
 * What the held device has asked for already: a request that is open, or less than a day old. A deletion that was carried out is
 * none of them: what has come in since is asked for anew.
 */
export async function findEarlierRequest(
  tx: Tx, entityId: number, { appId, deviceId, lastUserId }: AskingDevice, type: GdprRequestType,
): Promise<GdprRequest | null> {
  // By gdpr_people_by_device.
  const { rows } = await tx.query<GdprRequestRow>(
    `SELECT r.* FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
     WHERE p.entity_id = $1 AND p.device_id = $2 AND p.user_id IS NOT DISTINCT FROM $3
       AND r.source = 'sdk' AND r.app_id = $4 AND r.request_type = $5
       AND (r.${UNDER_WAY}
         OR (r.received_at > now() - interval '1 day' AND NOT (r.request_type = 'delete' AND r.state = 'treated')))
     ORDER BY r.id LIMIT 1`, [entityId, deviceId, lastUserId, appId, type]);
  return rows[0] ? toGdprRequest(rows[0]) : null;
}

/** A request as the people of its app see it; both ids are null once its person was erased. */
export type DeviceRequest = {
  identifier: string; type: GdprRequestType; state: GdprRequestState; deviceId: string | null; userId: string | null; receivedAt: Date;
};

type DeviceRequestRow = {
  identifier: string; request_type: GdprRequestType; state: GdprRequestState; device_id: string | null; user_id: string | null;
  received_at: Date;
};

/** What was asked for from devices of an app, newest first. */
export async function listDeviceRequests(
  db: Queryable, entityId: number, appId: number, { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; requests: DeviceRequest[] }> {
  const OF_APP = `entity_id = $1 AND app_id = $2 AND source = 'sdk'`;
  const { rows: [counted] } = await db.query<{ total: number }>(
    `SELECT count(*) AS total FROM gdpr_requests WHERE ${OF_APP}`, [entityId, appId]);
  // One from a device asks for one person.
  const { rows } = await db.query<DeviceRequestRow>(
    `SELECT r.identifier, r.request_type, r.state, p.device_id, p.user_id, r.received_at
     FROM (SELECT * FROM gdpr_requests WHERE ${OF_APP} ORDER BY id DESC OFFSET $3 LIMIT $4) r
     LEFT JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id AND p.ordinal = 1
     ORDER BY r.id DESC`, [entityId, appId, offset, limit]);
  return {
    total: counted!.total,
    requests: rows.map((row) => ({
      identifier: row.identifier, type: row.request_type, state: row.state, deviceId: row.device_id, userId: row.user_id,
      receivedAt: row.received_at,
    })),
  };
}
