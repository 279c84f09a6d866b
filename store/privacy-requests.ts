import type { Queryable, Tx } from './database.ts';
import { newIdentifier } from './identifiers.ts';

export type PrivacyRequestType = 'access' | 'delete';

/** What was asked for from a device; `userId`: who had last been seen on it. */
export type PrivacyRequest = { identifier: string; type: PrivacyRequestType; deviceId: string; userId: string | null; receivedAt: Date };

type Row = { identifier: string; request_type: PrivacyRequestType; device_id: string; user_id: string | null; received_at: Date };

const COLUMNS = 'identifier, request_type, device_id, user_id, received_at';

/** A device as it asks: one that any of the apps knows. */
export type AskingDevice = { appId: number; deviceId: string; lastUserId: string | null };

/** Holds the device, of the app that saw it last, so that it asks for one thing at a time. */
export async function lockAskingDevice(tx: Tx, entityId: number, appIds: number[], deviceId: string): Promise<AskingDevice | null> {
  const { rows } = await tx.query<{ app_id: number; last_user_id: string | null }>(
    `SELECT app_id, last_user_id FROM devices WHERE entity_id = $1 AND app_id = ANY ($2) AND device_id = $3
     ORDER BY last_seen_at DESC, app_id LIMIT 1 FOR NO KEY UPDATE`, [entityId, appIds, deviceId]);
  return rows[0] ? { appId: rows[0].app_id, deviceId, lastUserId: rows[0].last_user_id } : null;
}

/** What the held device asks for; the same again within a day is the request that there is. */
export async function findOrInsertPrivacyRequest(
  tx: Tx, entityId: number, { appId, deviceId, lastUserId }: AskingDevice, type: PrivacyRequestType,
): Promise<PrivacyRequest> {
  const asked = [entityId, appId, type, deviceId, lastUserId];
  const { rows: [earlier] } = await tx.query<Row>(
    `SELECT ${COLUMNS} FROM privacy_requests WHERE entity_id = $1 AND app_id = $2 AND request_type = $3 AND device_id = $4
       AND user_id IS NOT DISTINCT FROM $5 AND received_at > now() - interval '1 day' ORDER BY id LIMIT 1`, asked);
  if (earlier) return toPrivacyRequest(earlier);
  const { rows: [made] } = await tx.query<Row>(
    `INSERT INTO privacy_requests (entity_id, app_id, request_type, device_id, user_id, identifier)
     VALUES ($1, $2, $3, $4, $5, $6) RETURNING ${COLUMNS}`, [...asked, newIdentifier('prv')]);
  return toPrivacyRequest(made!);
}

/** Newest first. */
export async function listPrivacyRequests(
  db: Queryable, entityId: number, appId: number, { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; requests: PrivacyRequest[] }> {
  const { rows: [counted] } = await db.query<{ total: number }>(
    'SELECT count(*) AS total FROM privacy_requests WHERE entity_id = $1 AND app_id = $2', [entityId, appId]);
  const { rows } = await db.query<Row>(
    `SELECT ${COLUMNS} FROM privacy_requests WHERE entity_id = $1 AND app_id = $2 ORDER BY id DESC OFFSET $3 LIMIT $4`,
    [entityId, appId, offset, limit]);
  return { total: counted!.total, requests: rows.map(toPrivacyRequest) };
}

function toPrivacyRequest(row: Row): PrivacyRequest {
  return {
    identifier: row.identifier, type: row.request_type, deviceId: row.device_id, userId: row.user_id, receivedAt: row.received_at,
  };
}
