/** Requests that devices make: who asks, how many a day, and when unvouched ones have their turn. */
import type { JobKind, JobRef } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { type GdprRequest, type GdprRequestType, toGdprRequest, UNDER_WAY } from './request-record.ts';

export type AskingDevice = { appId: number; deviceId: string; gdprApproval: boolean };

/** A request from a device. `userId` null: for the device itself; else for the user of its user token. */
export type AskedByDevice = { device: AskingDevice; userId: string | null; type: GdprRequestType };

/** Locks the device of the app that saw it last, so that its requests come one after another. */
export async function lockAskingDevice(
  tx: Tx,
  entityId: number,
  appIds: number[],
  deviceId: string,
): Promise<AskingDevice | null> {
  const rows = readRows<Row<'devices', 'appId'> & Row<'apps', 'gdprApproval'>>(
    await tx.query(
      `SELECT d.app_id, a.gdpr_approval
     FROM devices d JOIN apps a ON a.entity_id = d.entity_id AND a.id = d.app_id
     WHERE d.entity_id = $1 AND d.app_id = ANY ($2) AND d.device_id = $3
     ORDER BY d.last_seen_at DESC, d.app_id LIMIT 1 FOR NO KEY UPDATE OF d`,
      [entityId, appIds, deviceId],
    ),
  );
  const [row] = rows;
  return row ? { appId: row.appId, deviceId, gdprApproval: row.gdprApproval } : null;
}

/** Returns an earlier request of the locked device for the same, open or of the last day; no treated deletion. */
export async function findEarlierRequest(
  tx: Tx,
  entityId: number,
  { device: { appId, deviceId }, userId, type }: AskedByDevice,
): Promise<GdprRequest | null> {
  // Uses the index gdpr_people_by_device.
  return readRow(
    await tx.query(
      `SELECT r.* FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
     WHERE p.entity_id = $1 AND p.device_id = $2 AND p.user_id IS NOT DISTINCT FROM $3
       AND r.source = 'sdk' AND r.app_id = $4 AND r.request_type = $5
       AND (r.${UNDER_WAY}
         OR (r.received_at > now() - interval '1 day' AND NOT (r.request_type = 'delete' AND r.state = 'treated')))
     ORDER BY r.id LIMIT 1`,
      [entityId, deviceId, userId, appId, type],
    ),
    toGdprRequest,
  );
}

/** The first key of the advisory lock for requests from an entity's devices; the second is the entity's id. */
const DEVICE_REQUESTS_LOCK = 1_750_023;

/** Keeps other requests from the entity's devices waiting until the transaction ends, so that counts stay true. */
export async function lockDeviceRequests(tx: Tx, entityId: number): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [DEVICE_REQUESTS_LOCK, entityId]);
}

/** Returns after how many seconds device and user have fewer than `most` requests of the type a day; 0: now. */
export async function secondsUntilFewer(
  tx: Tx,
  entityId: number,
  { device: { appId, deviceId }, userId, type }: AskedByDevice,
  most: number,
): Promise<number> {
  const nthNewest = (asker: string) =>
    `(SELECT r.received_at FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
      WHERE p.entity_id = $1 AND ${asker} AND r.source = 'sdk' AND r.request_type = $4 AND r.received_at > now() - interval '1 day'
      ORDER BY r.received_at DESC OFFSET $5 LIMIT 1)`;
  // Uses the indexes gdpr_people_by_device and gdpr_people_by_user.
  const { rows } = await tx.query<{ seconds: number | null }>(
    `SELECT ceil(extract(epoch FROM max(received_at) + interval '1 day' - now()))::integer AS seconds
     FROM (${nthNewest('p.device_id = $2 AND r.app_id = $6')} UNION ALL ${nthNewest('p.user_id = $3')}) AS nth`,
    [entityId, deviceId, userId, type, most - 1, appId],
  );
  return rows[0]!.seconds ?? 0;
}

/** At most `most` requests within this many seconds. */
export type Rate = { most: number; seconds: number };

/** Returns after how many seconds the app's devices are within each of the rates for unvouched requests; 0: now. */
export async function secondsUntilWithin(
  tx: Tx,
  entityId: number,
  appId: number,
  rates: readonly Rate[],
): Promise<number> {
  // Uses the index gdpr_requests_unvouched.
  const { rows } = await tx.query<{ seconds: number | null }>(
    `SELECT ceil(extract(epoch FROM max(nth.received_at + make_interval(secs => rate.seconds)) - now()))::integer AS seconds
     FROM unnest($3::integer[], $4::integer[]) AS rate (most, seconds) CROSS JOIN LATERAL (
       SELECT r.received_at FROM gdpr_requests r
       WHERE r.entity_id = $1 AND r.app_id = $2 AND r.is_unvouched AND r.received_at > now() - make_interval(secs => rate.seconds)
       ORDER BY r.received_at DESC OFFSET rate.most - 1 LIMIT 1) AS nth`,
    [entityId, appId, rates.map(({ most }) => most), rates.map(({ seconds }) => seconds)],
  );
  return rows[0]!.seconds ?? 0;
}

export async function countOpenOfDevices(db: Queryable, entityId: number, appId: number): Promise<number> {
  // Uses the index gdpr_requests_open_from_devices.
  const { rows } = await db.query<{ open: number }>(
    `SELECT count(*) AS open FROM gdpr_requests r WHERE r.entity_id = $1 AND r.app_id = $2 AND r.source = 'sdk' AND r.${UNDER_WAY}
       AND EXISTS (SELECT FROM gdpr_request_people p WHERE p.entity_id = r.entity_id AND p.request_id = r.id AND p.user_id IS NULL)`,
    [entityId, appId],
  );
  return rows[0]!.open;
}

/** A request as its app's users see it. Both ids are null once its person was erased. */
export type DeviceRequest = Row<'gdpr_requests', 'identifier' | 'state' | 'receivedAt'> &
  Row<'gdpr_request_people', 'deviceId' | 'userId'> & { type: GdprRequestType };

export async function listDeviceRequests(
  db: Queryable,
  entityId: number,
  appId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; requests: DeviceRequest[] }> {
  const OF_APP = `entity_id = $1 AND app_id = $2 AND source = 'sdk'`;
  const {
    rows: [counted],
  } = await db.query<{ total: number }>(`SELECT count(*) AS total FROM gdpr_requests WHERE ${OF_APP}`, [
    entityId,
    appId,
  ]);
  // A request from a device has one person.
  const requests = readRows<DeviceRequest>(
    await db.query(
      `SELECT r.identifier, r.request_type AS type, r.state, p.device_id, p.user_id, r.received_at
     FROM (SELECT * FROM gdpr_requests WHERE ${OF_APP} ORDER BY id DESC OFFSET $3 LIMIT $4) r
     LEFT JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id AND p.ordinal = 1
     ORDER BY r.id DESC`,
      [entityId, appId, offset, limit],
    ),
  );
  return { total: counted!.total, requests };
}

/** How long an unvouched request waits for others at most: then at least one more of the entity begins. */
const WAITS_AT_MOST = `interval '10 minutes'`;

/**
 * A condition on an accepted request `j`: an unvouched one waits for older unvouched ones, one that runs, and other
 * requests of its entity, unless a fault, a hold or giving up keeps these.
 */
export const HAS_TURN = `(NOT j.is_unvouched OR NOT EXISTS (
  SELECT FROM gdpr_requests o
  WHERE o.entity_id = j.entity_id AND o.id <> j.id AND o.state IN ('accepted', 'running')
    AND o.given_up_at IS NULL AND o.fault IS NULL AND o.location_faults = '{}' AND o.stage IS DISTINCT FROM 'on hold'
    AND CASE WHEN NOT o.is_unvouched THEN j.received_at > now() - ${WAITS_AT_MOST}
      WHEN o.state = 'running' THEN o.started_at > now() - ${WAITS_AT_MOST}
      ELSE o.id < j.id END))`;

export async function findNextUnvouched(db: Queryable, entityId: number): Promise<(JobRef & { type: JobKind }) | null> {
  // Uses the index gdpr_requests_to_work_off.
  return readRow(
    await db.query(
      `SELECT j.entity_id, j.id AS job_id, j.identifier, j.request_type AS type FROM gdpr_requests j
     WHERE j.entity_id = $1 AND j.state = 'accepted' AND j.is_unvouched AND j.given_up_at IS NULL AND ${HAS_TURN}
     ORDER BY j.id LIMIT 1`,
      [entityId],
    ),
  );
}
