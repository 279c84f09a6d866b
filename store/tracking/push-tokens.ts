import type { Tx } from '../core/database.ts';
import { type IngestedCall, type SubjectCalls, timestamp } from './ingested-call.ts';

/**
 * The owner of a push token: it belongs to the device that sent it last, since a phone that was reset or sold has
 * another id.
 */

type Device = Pick<SubjectCalls, 'appId'> & { deviceId: string };
/**
 * A device that sent a token, and when; `isVerified`: the app requires verified users, and a user token vouched for the
 * device.
 */
type Owner = Device & { token: string; saidAt: number; isVerified: boolean };

/**
 * Finds to which devices the push tokens belong that calls of devices say, and takes each from those to which it no
 * longer does: the last one that said it has it. From a device that a user token vouched for, in an app that requires
 * it, no call takes it. Returns the devices, by `keyOf`, whose token is another's. The session heads of the devices are
 * locked.
 */
export async function settlePushTokens(
  tx: Tx,
  entityId: number,
  devices: readonly (Device & { calls: readonly IngestedCall[] })[],
): Promise<ReadonlySet<string>> {
  const claims = devices.flatMap(({ appId, deviceId, calls }): Owner[] => {
    const call = calls.findLast(({ context }) => context.pushToken !== null);
    return call
      ? [{ appId, deviceId, token: call.context.pushToken!, saidAt: call.happenedAt, isVerified: false }]
      : [];
  });
  if (claims.length === 0 || !(await isAnyDisputed(tx, entityId, claims))) return new Set();
  await lockTokens(tx, entityId, claims);
  const stored = await lockOwners(tx, entityId, devices, claims);
  const given = new Set<string>();
  const lost: Owner[] = [];
  for (const [, owners] of Map.groupBy([...stored, ...claims], ({ appId, token }) => `${appId} ${token}`)) {
    const winner = owners.reduce((best, each) => (wins(each, best) ? each : best));
    for (const owner of owners) if (keyOf(owner) !== keyOf(winner)) lost.push(owner);
  }
  const claiming = new Set(claims);
  for (const owner of lost) if (claiming.has(owner)) given.add(keyOf(owner));
  await deleteTokens(
    tx,
    entityId,
    lost.filter((owner) => !claiming.has(owner)),
  );
  return given;
}

export function keyOf({ appId, deviceId }: Device): string {
  return `${appId} ${deviceId}`;
}

/** Whether a device has a token before another one that said it. At equal times the one that comes last has it. */
function wins(each: Owner, best: Owner): boolean {
  return best.isVerified === each.isVerified ? each.saidAt >= best.saidAt : each.isVerified;
}

const CLAIMS = 'unnest($2::integer[], $3::text[], $4::text[]) AS g (app_id, device_id, token)';
/** Whether a row `d` of devices has the token of a claim `g`. By devices_by_push_token. */
const HAS_TOKEN = `d.entity_id = $1 AND d.app_id = g.app_id AND d.push_token = g.token AND d.push_token IS NOT NULL
  AND hashtextextended(d.push_token, 0) = hashtextextended(g.token, 0)`;

function valuesOf(entityId: number, claims: readonly Owner[]): unknown[] {
  return [
    entityId,
    claims.map(({ appId }) => appId),
    claims.map(({ deviceId }) => deviceId),
    claims.map(({ token }) => token),
  ];
}

/** Whether a token is new on its device, or another device has it. Nearly every call repeats its device's own. */
async function isAnyDisputed(tx: Tx, entityId: number, claims: readonly Owner[]): Promise<boolean> {
  const {
    rows: [row],
  } = await tx.query<{ disputed: boolean }>({
    name: 'find-disputed-push-tokens',
    text: `SELECT EXISTS (
      SELECT FROM ${CLAIMS}
      WHERE NOT EXISTS (SELECT FROM devices d WHERE d.entity_id = $1 AND d.app_id = g.app_id AND d.device_id = g.device_id
          AND d.push_token = g.token)
        OR EXISTS (SELECT FROM devices d WHERE ${HAS_TOKEN} AND d.device_id <> g.device_id)) AS disputed`,
    values: valuesOf(entityId, claims),
  });
  return row!.disputed;
}

/**
 * Locks of an entity's tokens: a batch may bring thousands of tokens, and Postgres has room for some thousand locks in
 * all.
 */
const TOKEN_LOCKS = 16;

/**
 * Two devices that both are new with a token don't see each other otherwise. In one order, so that none waits in a
 * circle.
 */
async function lockTokens(tx: Tx, entityId: number, claims: readonly Owner[]): Promise<void> {
  await tx.query(
    `SELECT pg_advisory_xact_lock(key) FROM (
       SELECT DISTINCT hashtextextended('push_token ' || $1::text || ' ' || abs(hashtextextended(token, 0) % ${TOKEN_LOCKS}), 0) AS key
       FROM unnest($2::text[]) AS token ORDER BY key OFFSET 0) AS keys`,
    [entityId, claims.map(({ token }) => token)],
  );
}

/**
 * The devices that have these tokens, as they are once they are locked. Locks them and those of the calls in the order
 * of the key: others write devices in this order.
 */
async function lockOwners(
  tx: Tx,
  entityId: number,
  devices: readonly Device[],
  claims: readonly Owner[],
): Promise<Owner[]> {
  type Row = { app_id: number; device_id: string; push_token: string; said_at: Date; is_verified: boolean };
  const { rows } = await tx.query<Row>(
    `SELECT d.app_id, d.device_id, d.push_token, coalesce(d.push_token_said_at, d.last_seen_at) AS said_at,
       d.verified_user_id IS NOT NULL AND (SELECT verified_users FROM apps a WHERE a.entity_id = $1 AND a.id = d.app_id) AS is_verified
     FROM (
       SELECT d.app_id, d.device_id FROM ${CLAIMS} JOIN devices d ON ${HAS_TOKEN}
       UNION SELECT * FROM unnest($5::integer[], $6::text[])) AS wanted
     JOIN devices d ON d.entity_id = $1 AND d.app_id = wanted.app_id AND d.device_id = wanted.device_id
     ORDER BY d.app_id, d.device_id COLLATE "C" FOR NO KEY UPDATE OF d`,
    [...valuesOf(entityId, claims), devices.map(({ appId }) => appId), devices.map(({ deviceId }) => deviceId)],
  );
  const claimed = new Set(claims.map(({ appId, token }) => `${appId} ${token}`));
  return rows
    .filter((row) => claimed.has(`${row.app_id} ${row.push_token}`))
    .map((row) => ({
      appId: row.app_id,
      deviceId: row.device_id,
      token: row.push_token,
      saidAt: row.said_at.getTime(),
      isVerified: row.is_verified,
    }));
}

/** They stay said when they were: what the device says later counts. */
async function deleteTokens(tx: Tx, entityId: number, owners: readonly Owner[]): Promise<void> {
  if (owners.length === 0) return;
  await tx.query(
    `UPDATE devices d SET push_token = NULL, push_token_said_at = g.said_at, received_at = now()
     FROM unnest($2::integer[], $3::text[], $4::text[], $5::timestamptz[]) AS g (app_id, device_id, token, said_at)
     WHERE d.entity_id = $1 AND d.app_id = g.app_id AND d.device_id = g.device_id AND d.push_token = g.token`,
    [...valuesOf(entityId, owners), owners.map(({ saidAt }) => timestamp(saidAt))],
  );
}

/**
 * Takes a token from all other devices of the app: a user token vouched for this one. Locks the devices in the order of
 * the key.
 */
export async function movePushToken(
  tx: Tx,
  entityId: number,
  { appId, deviceId }: Device,
  token: string,
): Promise<void> {
  const claim = { appId, deviceId, token, saidAt: 0, isVerified: true };
  await lockTokens(tx, entityId, [claim]);
  const owners = await lockOwners(tx, entityId, [claim], [claim]);
  await deleteTokens(
    tx,
    entityId,
    owners.filter((owner) => owner.deviceId !== deviceId),
  );
}
