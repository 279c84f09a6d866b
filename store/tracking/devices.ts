/** Devices: writes what calls and user tokens say of them, and settles which device has a push token. */

import type { Tx } from '../core/database.ts';
import { type AppCall, type PlacedSubject, type SubjectCalls, timestamp } from './app-call.ts';
import { readRows } from '../core/camel-row.ts';

type DeviceSubject = PlacedSubject & { deviceId: string };

/** The event that logs the user out of its device (docs/tracking.md). */
const LOGOUT = 'millrace_logout';
const isLogout = ({ event }: AppCall) => event?.name === LOGOUT;
/** Stands for the user after a logout: no user id is empty. */
const NO_USER = '';

/** The columns that calls set, each by itself: the last call that has a value counts. */
const MEMBERS = {
  push_token: ['text', ({ context }) => context.pushToken],
  opt_in: ['boolean', ({ context }) => context.optIn],
  opt_out: ['boolean', ({ context }) => context.optOut],
  app_version: ['text', ({ context }) => context.appVersion],
  os_version: ['text', ({ context }) => context.osVersion],
  sdk_version: ['text', ({ context }) => context.sdkVersion],
  device_model: ['text', ({ context }) => context.deviceModel],
  device_type: ['text', ({ context }) => context.deviceType],
  country: ['text', ({ context }) => context.country],
  lang: ['text', ({ context }) => context.lang],
  last_city: ['text', ({ context }) => context.city],
  last_latitude: ['double precision', ({ context }) => context.latitude],
  last_longitude: ['double precision', ({ context }) => context.longitude],
  utc_offset: ['smallint', ({ context }) => context.utcOffset],
  timezone: ['text', ({ context }) => context.timezone],
  current_user_id: ['text', (call) => (isLogout(call) ? NO_USER : call.userId)],
  last_user_id: ['text', ({ userId }) => userId],
} as const satisfies Record<string, [type: string, read: (call: AppCall) => string | number | boolean | null]>;

type Member = keyof typeof MEMBERS;

const COLUMNS = Object.keys(MEMBERS) as Member[];
export const saidAt = (column: Member) => `${column}_said_at` as const;

export const SAID_AT_COLUMNS = COLUMNS.map(saidAt);

/** An event of Segment's mobile spec that a server sends for a device. Any later call shows that the app is there. */
const UNINSTALLED = 'Application Uninstalled';

/** When the calls set a member; their row has the time unless it is the last call's. */
const saidByCalls = (column: Member) =>
  `CASE WHEN num_nonnulls(${column}, ${saidAt(column)}) > 0 THEN least(coalesce(${saidAt(column)}, last_seen_at), now()) END`;
const knownAt = (column: Member) =>
  `coalesce(d.${saidAt(column)}, CASE WHEN d.${column} IS NOT NULL THEN d.last_seen_at END)`;
const isNewer = (column: Member) => `excluded.${saidAt(column)} >= coalesce(${knownAt(column)}, '-infinity')`;

/** SQL for whether the calls log a row `d` out after a user token vouched for its user, even with later logins. */
const IS_LOGGED_OUT = `EXISTS (SELECT FROM unnest($7::integer[], $8::text[], $9::timestamptz[]) AS logout (app_id, device_id, at)
  WHERE logout.app_id = d.app_id AND logout.device_id = d.device_id AND logout.at >= coalesce(d.verified_at, '-infinity'))`;

const UPSERT_USERS = `INSERT INTO device_users AS u (entity_id, app_id, device_id, user_id, last_seen_at)
  SELECT $1, app_id, device_id, user_id, least(last_seen_at, now())
  FROM unnest($3::integer[], $4::text[], $5::text[], $6::timestamptz[]) AS given (app_id, device_id, user_id, last_seen_at)
  ORDER BY app_id, device_id COLLATE "C", user_id COLLATE "C"
  ON CONFLICT (entity_id, app_id, device_id, user_id) DO UPDATE SET last_seen_at = excluded.last_seen_at
  WHERE u.last_seen_at < excluded.last_seen_at`;

/**
 * Writes devices and their users; their session heads are locked. Each member has its own time: a late call changes
 * only members set before it; of equal times the last call counts. Another push token, or a logout, ends what a user
 * token vouched for, since the app's key is enough to send them. A time ahead of its receipt counts as the receipt: a
 * clock ahead would shut out all later calls.
 */
export async function upsertDevices(tx: Tx, entityId: number, subjects: readonly PlacedSubject[]): Promise<void> {
  const devices = subjects.filter((subject): subject is DeviceSubject => subject.deviceId !== null);
  if (devices.length === 0) return;
  const withoutToken = await settlePushTokens(tx, entityId, devices);
  const rows = devices.map((device) => toRow(device, withoutToken.has(keyOf(device))));
  const seen = devices.flatMap(usersSeen);
  const logouts = devices.flatMap(lastLogout);
  await tx.query({
    name: 'upsert-devices',
    text: `WITH seen AS (${UPSERT_USERS})
           INSERT INTO devices AS d (entity_id, app_id, device_id, uninstalled, number_of_sessions, number_of_crashes,
             first_seen_at, last_seen_at, ${COLUMNS.flatMap((column) => [column, saidAt(column)]).join(', ')})
           SELECT $1, app_id, device_id, uninstalled, number_of_sessions, number_of_crashes, least(first_seen_at, now()),
             least(last_seen_at, now()), ${COLUMNS.map((column) => `${column}, ${saidByCalls(column)}`).join(', ')}
           FROM json_to_recordset($2) AS given (app_id integer, device_id text, uninstalled boolean, number_of_sessions integer,
             number_of_crashes integer, first_seen_at timestamptz, last_seen_at timestamptz,
             ${COLUMNS.map((column) => `${column} ${MEMBERS[column][0]}, ${saidAt(column)} timestamptz`).join(', ')})
           ORDER BY app_id, device_id COLLATE "C"
           ON CONFLICT (entity_id, app_id, device_id) DO UPDATE SET
             verified_user_id = CASE WHEN ${isNewer('push_token')} AND excluded.push_token IS DISTINCT FROM d.push_token THEN NULL
               WHEN d.verified_user_id IS NOT NULL AND ${IS_LOGGED_OUT} THEN NULL ELSE d.verified_user_id END,
             uninstalled = CASE WHEN excluded.last_seen_at >= d.last_seen_at THEN excluded.uninstalled ELSE d.uninstalled END,
             number_of_sessions = d.number_of_sessions + excluded.number_of_sessions,
             number_of_crashes = d.number_of_crashes + excluded.number_of_crashes,
             first_seen_at = least(d.first_seen_at, excluded.first_seen_at),
             last_seen_at = greatest(d.last_seen_at, excluded.last_seen_at), received_at = now(),
             ${COLUMNS.map(
               (column) => `${column} = CASE WHEN ${isNewer(column)} THEN excluded.${column} ELSE d.${column} END,
               ${saidAt(column)} = greatest(excluded.${saidAt(column)}, ${knownAt(column)})`,
             ).join(', ')}`,
    values: [
      entityId,
      JSON.stringify(rows),
      seen.map(({ appId }) => appId),
      seen.map(({ deviceId }) => deviceId),
      seen.map(({ userId }) => userId),
      seen.map(({ at }) => timestamp(at)),
      logouts.map(({ appId }) => appId),
      logouts.map(({ deviceId }) => deviceId),
      logouts.map(({ at }) => timestamp(at)),
    ],
  });
}

function toRow({ appId, deviceId, calls, placed }: DeviceSubject, isTokenLost: boolean): Record<string, unknown> {
  const last = calls.at(-1)!;
  const row: Record<string, unknown> = {
    app_id: appId,
    device_id: deviceId,
    uninstalled: last.event?.name === UNINSTALLED,
    number_of_sessions: placed.filter(({ foundAt }) => foundAt === null).length,
    number_of_crashes: calls.filter(({ event }) => event?.logType === 1).length,
    first_seen_at: timestamp(calls[0]!.happenedAt),
    last_seen_at: timestamp(last.happenedAt),
  };
  for (const column of COLUMNS) {
    const call = calls.findLast((each) => MEMBERS[column][1](each) !== null);
    if (call === undefined) continue;
    const value = MEMBERS[column][1](call);
    const isNoValue = value === NO_USER || (column === 'push_token' && isTokenLost);
    if (!isNoValue) row[column] = value;
    if (isNoValue || call.happenedAt !== last.happenedAt) row[saidAt(column)] = timestamp(call.happenedAt);
  }
  return row;
}

function usersSeen({ appId, deviceId, calls }: DeviceSubject) {
  const lastSeen = new Map<string, number>();
  for (const { userId, happenedAt } of calls) if (userId !== null) lastSeen.set(userId, happenedAt);
  return Array.from(lastSeen, ([userId, at]) => ({ appId, deviceId, userId, at }));
}

function lastLogout({ appId, deviceId, calls }: DeviceSubject) {
  const logout = calls.findLast(isLogout);
  return logout === undefined ? [] : [{ appId, deviceId, at: logout.happenedAt }];
}

type Device = Pick<SubjectCalls, 'appId'> & { deviceId: string };
/** A device that sent a token. `isVerified`: a user token vouched for it, in an app that requires verified users. */
type Owner = Device & { token: string; saidAt: number; isVerified: boolean };

/**
 * Gives each push token to the device that sent it last, since a phone that was reset or sold has another id. No call
 * takes a token from an `isVerified` device. Returns the keys (`keyOf`) of these devices that don't get their token.
 * Their session heads are locked.
 */
export async function settlePushTokens(
  tx: Tx,
  entityId: number,
  devices: readonly (Device & { calls: readonly AppCall[] })[],
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

function keyOf({ appId, deviceId }: Device): string {
  return `${appId} ${deviceId}`;
}

/** Returns whether a device has the token before another one; for equal times the last one has it. */
function wins(each: Owner, best: Owner): boolean {
  return best.isVerified === each.isVerified ? each.saidAt >= best.saidAt : each.isVerified;
}

const CLAIMS = 'unnest($2::integer[], $3::text[], $4::text[]) AS g (app_id, device_id, token)';
/** Uses the index devices_by_push_token. */
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

/** Returns whether any token is new or another device's. Nearly every call repeats its device's own token. */
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

/** Number of locks for an entity's tokens: a batch brings thousands, and Postgres holds a few thousand locks. */
const TOKEN_LOCKS = 16;

/** Locks tokens in order of the key: two new devices with one token don't see each other otherwise. */
async function lockTokens(tx: Tx, entityId: number, claims: readonly Owner[]): Promise<void> {
  await tx.query(
    `SELECT pg_advisory_xact_lock(key) FROM (
       SELECT DISTINCT hashtextextended('push_token ' || $1::text || ' ' || abs(hashtextextended(token, 0) % ${TOKEN_LOCKS}), 0) AS key
       FROM unnest($2::text[]) AS token ORDER BY key OFFSET 0) AS keys`,
    [entityId, claims.map(({ token }) => token)],
  );
}

/** Locks the devices with these tokens, and the calls' devices, in order of the key as other writers do. */
async function lockOwners(
  tx: Tx,
  entityId: number,
  devices: readonly Device[],
  claims: readonly Owner[],
): Promise<Owner[]> {
  const owners = readRows<Omit<Owner, 'saidAt'> & { saidAt: Date }>(
    await tx.query(
      `SELECT d.app_id, d.device_id, d.push_token AS token, coalesce(d.push_token_said_at, d.last_seen_at) AS said_at,
       d.verified_user_id IS NOT NULL AND (SELECT verified_users FROM apps a WHERE a.entity_id = $1 AND a.id = d.app_id) AS is_verified
     FROM (
       SELECT d.app_id, d.device_id FROM ${CLAIMS} JOIN devices d ON ${HAS_TOKEN}
       UNION SELECT * FROM unnest($5::integer[], $6::text[])) AS wanted
     JOIN devices d ON d.entity_id = $1 AND d.app_id = wanted.app_id AND d.device_id = wanted.device_id
     ORDER BY d.app_id, d.device_id COLLATE "C" FOR NO KEY UPDATE OF d`,
      [...valuesOf(entityId, claims), devices.map(({ appId }) => appId), devices.map(({ deviceId }) => deviceId)],
    ),
  );
  const claimed = new Set(claims.map(({ appId, token }) => `${appId} ${token}`));
  return owners
    .filter(({ appId, token }) => claimed.has(`${appId} ${token}`))
    .map((owner) => ({ ...owner, saidAt: owner.saidAt.getTime() }));
}

/** Keeps the time of each token, so that a later call of the device counts. */
async function deleteTokens(tx: Tx, entityId: number, owners: readonly Owner[]): Promise<void> {
  if (owners.length === 0) return;
  await tx.query(
    `UPDATE devices d SET push_token = NULL, push_token_said_at = g.said_at, received_at = now()
     FROM unnest($2::integer[], $3::text[], $4::text[], $5::timestamptz[]) AS g (app_id, device_id, token, said_at)
     WHERE d.entity_id = $1 AND d.app_id = g.app_id AND d.device_id = g.device_id AND d.push_token = g.token`,
    [...valuesOf(entityId, owners), owners.map(({ saidAt }) => timestamp(saidAt))],
  );
}

/** Takes a token from the app's other devices: a user token vouched for this one. Locks in order of the key. */
async function movePushToken(tx: Tx, entityId: number, { appId, deviceId }: Device, token: string): Promise<void> {
  const claim = { appId, deviceId, token, saidAt: 0, isVerified: true };
  await lockTokens(tx, entityId, [claim]);
  const owners = await lockOwners(tx, entityId, [claim], [claim]);
  await deleteTokens(
    tx,
    entityId,
    owners.filter((owner) => owner.deviceId !== deviceId),
  );
}

/**
 * Sets a device's verified user, and its push token, which no other device has then. Returns false if no token came and
 * the device has one for which no user token of this user vouched: the app's key is enough to send one.
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
