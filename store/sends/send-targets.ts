/** Devices, apps and limits that a message needs on its way. */

import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import type { QuietHours } from '../../domain/sends/quiet-hours.ts';
import { personOfDevice } from '../analytics/people.ts';
import { TEST_COPIES } from '../campaigns/campaign-tests.ts';
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export const TARGET_DEVICE = `d.device_id AS "deviceId", d.current_user_id AS "currentUserId", d.verified_user_id AS "verifiedUserId",
  d.current_user_id IS NULL AND d.current_user_id_said_at IS NOT NULL AS "isLoggedOut", d.push_token AS "pushToken",
  d.opt_in AS "optIn", d.opt_out AS "optOut", d.uninstalled`;

export type FoundDevice = Omit<TargetDevice, 'deviceId'> & { deviceId: string | null };

export const isThere = <F extends FoundDevice>(found: F): found is F & TargetDevice => found.deviceId !== null;

/** Finds a device of an app, with its person as analytics names people: u and the user's id, or d and the device's. */
export async function findTargetDevice(
  db: Queryable,
  entityId: number,
  appId: number,
  deviceId: string,
): Promise<(TargetDevice & { person: string }) | null> {
  const { rows } = await db.query<TargetDevice & { person: string }>(
    `SELECT ${TARGET_DEVICE}, ${personOfDevice('d')} AS person FROM devices d
     WHERE d.entity_id = $1 AND d.app_id = $2 AND d.device_id = $3`,
    [entityId, appId, deviceId],
  );
  return rows[0] ?? null;
}

type UserDevice = FoundDevice & { userId: string; appId: number };

/** Maximum number of a user's devices in an app, beside verified ones: an app's key is enough to invent devices. */
const MAX_DEVICES = 100;
/** Maximum number of a user's devices, those seen last, among which these are chosen. */
const MAX_CANDIDATES = 1_000;

/**
 * Returns these users' devices in these apps, the last seen first. A user with more than MAX_DEVICES in an app gets
 * first those with a push token and several calls.
 */
export async function listUserDevices(
  db: Queryable,
  entityId: number,
  appIds: readonly number[],
  userIds: readonly string[],
): Promise<(UserDevice & TargetDevice)[]> {
  const seen = await listDevicesBy(db, SEEN, entityId, appIds, userIds);
  const crowded = crowdedUsers(seen);
  if (crowded.size === 0) return seen.filter(isThere);
  const crowd = [...crowded];
  const chosen = [
    ...seen.filter(({ userId }) => !crowded.has(userId)),
    ...(await listDevicesBy(db, RANKED, entityId, appIds, crowd)),
  ];
  const known = new Set(chosen.map(keyOf));
  const verified = await listDevicesBy(db, VERIFIED, entityId, appIds, crowd);
  return [...chosen, ...verified.filter((device) => !known.has(keyOf(device)))].filter(isThere);
}

function keyOf({ appId, userId, deviceId }: UserDevice): string {
  return JSON.stringify([appId, userId, deviceId]);
}

function crowdedUsers(devices: readonly UserDevice[]): Set<string> {
  if (devices.length < MAX_DEVICES) return new Set();
  const counts = new Map<string, number>();
  for (const { userId } of devices) counts.set(userId, (counts.get(userId) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count >= MAX_DEVICES).map(([userId]) => userId));
}

/** Uses the index device_users_by_user. */
const SEEN = {
  name: 'list-devices-of-users',
  candidates: `SELECT device_id FROM device_users
    WHERE entity_id = $1 AND user_id = given.user_id AND app_id = a.app_id ORDER BY last_seen_at DESC LIMIT ${MAX_DEVICES}`,
};
/** Uses device_users_by_user and the primary key of devices. Clocks that were ahead left times in the future. */
const RANKED = {
  name: 'list-ranked-devices-of-users',
  candidates: `SELECT latest.device_id
    FROM (SELECT device_id, least(last_seen_at, now()) AS seen_at FROM device_users
      WHERE entity_id = $1 AND user_id = given.user_id AND app_id = a.app_id
      ORDER BY last_seen_at DESC LIMIT ${MAX_CANDIDATES}) latest
    CROSS JOIN LATERAL (
      SELECT push_token IS NOT NULL AND first_seen_at < last_seen_at AS is_likely FROM devices
      WHERE entity_id = $1 AND app_id = a.app_id AND device_id = latest.device_id LIMIT 1) own
    ORDER BY own.is_likely DESC, latest.seen_at DESC LIMIT ${MAX_DEVICES}`,
};
/** Uses the index devices_by_verified_user. */
const VERIFIED = {
  name: 'list-verified-devices-of-users',
  candidates: `SELECT device_id FROM devices
    WHERE entity_id = $1 AND app_id = a.app_id AND verified_user_id = given.user_id LIMIT ${MAX_DEVICES}`,
};

/** LIMIT 1 keeps the order of the look-ups, which the planner reverses on tables that were never analyzed. */
async function listDevicesBy(
  db: Queryable,
  { name, candidates }: typeof SEEN,
  entityId: number,
  appIds: readonly number[],
  userIds: readonly string[],
): Promise<UserDevice[]> {
  const { rows } = await db.query<UserDevice>({
    name,
    text: `SELECT given.user_id AS "userId", a.app_id AS "appId", ${TARGET_DEVICE}
           FROM (SELECT user_id COLLATE "C" AS user_id FROM unnest($3::text[]) AS g (user_id)) given
           CROSS JOIN unnest($2::integer[]) AS a (app_id)
           CROSS JOIN LATERAL (${candidates}) u
           LEFT JOIN LATERAL (
             SELECT * FROM devices WHERE entity_id = $1 AND app_id = a.app_id AND device_id = u.device_id LIMIT 1) d ON true`,
    values: [entityId, appIds, userIds],
  });
  return rows;
}

export type SendingApp = {
  id: number;
  identifier: string;
  packageName: string;
  appType: 'iOS App' | 'Android App' | 'Web App';
  verifiedUsers: boolean;
  quietHours: QuietHours | null;
  messageLimit: number | null;
  messagePeriod: number | null;
  sendRate: number | null;
};

export async function listSendingApps(
  db: Queryable,
  entityId: number,
  appIds: readonly number[],
): Promise<Map<number, SendingApp>> {
  const apps = readRows<SendingApp>(
    await db.query(
      `SELECT id, identifier, package_name, app_type, verified_users, message_limit, message_period, send_rate,
       CASE WHEN quiet_hours IS NOT NULL THEN json_build_object('start', quiet_hours -> 'start', 'end', quiet_hours -> 'end',
         'timezone', coalesce(quiet_hours ->> 'timezone', default_tz)) END AS quiet_hours
     FROM apps WHERE entity_id = $1 AND id = ANY ($2::integer[])`,
      [entityId, appIds],
    ),
  );
  return new Map(apps.map((app) => [app.id, app]));
}

/**
 * Lists messages that left for each person in the last `periodSeconds`, or are leaving, by `messageKey`. Leaves out
 * tests. Uses the indexes attempts_by_user and attempts_by_device.
 */
export async function listMessagesGone(
  tx: Queryable,
  entityId: number,
  appId: number,
  people: readonly string[],
  periodSeconds: number,
): Promise<Map<string, Set<string>>> {
  const counted = `app_id = $2 AND channel <> 'inapp' AND campaign_id NOT IN (${TEST_COPIES})
    AND (state = 'sending' OR code IN ('PUSH_SENT', 'UNKNOWN') AND settled_at > now() - make_interval(secs => $4))`;
  const messages = `array_agg(DISTINCT concat_ws(' ', campaign_id, send_id, message_ordinal)) AS messages`;
  const { rows } = await tx.query<{ person: string; messages: string[] }>(
    `WITH people AS (SELECT substr(person, 2) COLLATE "C" AS id, person LIKE 'u%' AS is_user FROM unnest($3::text[]) AS p (person))
     SELECT 'u' || user_id AS person, ${messages} FROM attempts
     WHERE entity_id = $1 AND user_id = ANY (ARRAY(SELECT id FROM people WHERE is_user)) AND ${counted} GROUP BY user_id
     UNION ALL
     SELECT 'd' || device_id, ${messages} FROM attempts
     WHERE entity_id = $1 AND device_id = ANY (ARRAY(SELECT id FROM people WHERE NOT is_user)) AND user_id IS NULL AND ${counted}
     GROUP BY device_id`,
    [entityId, appId, people, periodSeconds],
  );
  return new Map(rows.map(({ person, messages: keys }) => [person, new Set(keys)]));
}

/** Returns the key of a person's message; each look of a dynamic campaign is one. */
export const messageKey = (campaignId: number, sendId: number, ordinal: number): string =>
  `${campaignId} ${sendId} ${ordinal}`;

/** Locks an app's limit, so that two transactions never both count before the other's messages leave. */
export async function lockMessageLimit(tx: Queryable, entityId: number, appId: number): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('message_limit ' || $1::text || ' ' || $2::text, 0))`, [
    entityId,
    appId,
  ]);
}

/** Takes the time of `count` messages at an app's rate per second, and returns when the first may leave. */
export async function takeSendPace(
  tx: Queryable,
  entityId: number,
  appId: number,
  count: number,
  rate: number,
): Promise<Date> {
  const { rows } = await tx.query<{ starts_at: Date }>(
    `INSERT INTO send_paces AS p (entity_id, app_id, next_at)
     VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3::float8 / $4))
     ON CONFLICT (entity_id, app_id)
     DO UPDATE SET next_at = greatest(p.next_at, clock_timestamp()) + make_interval(secs => $3::float8 / $4)
     RETURNING next_at - make_interval(secs => $3::float8 / $4) AS starts_at`,
    [entityId, appId, count, rate],
  );
  return rows[0]!.starts_at;
}

/** `since`: when the provider found the token gone; null if it did not say. */
export type GoneToken = { appId: number; deviceId: string; token: string; since: Date | null };

/** Deletes tokens that a provider has lost, unless sent again since: an app installed again may get its old one. */
export async function updateTokensGone(tx: Queryable, entityId: number, gone: readonly GoneToken[]): Promise<void> {
  if (gone.length === 0) return;
  await tx.query(
    `UPDATE devices d SET push_token = NULL, received_at = now()
     FROM (SELECT * FROM unnest($2::integer[], $3::text[], $4::text[], $5::timestamptz[]) AS g (app_id, device_id, token, gone_since)
       ORDER BY app_id, device_id COLLATE "C") g
     WHERE d.entity_id = $1 AND d.app_id = g.app_id AND d.device_id = g.device_id AND d.push_token = g.token
       AND (d.push_token_said_at > g.gone_since) IS NOT TRUE`,
    [
      entityId,
      gone.map(({ appId }) => appId),
      gone.map(({ deviceId }) => deviceId),
      gone.map(({ token }) => token),
      gone.map(({ since }) => since),
    ],
  );
}
