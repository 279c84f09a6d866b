import type { Tx } from '../core/database.ts';
import { type IngestedCall, type PlacedSubject, timestamp } from './ingested-call.ts';
import { keyOf, settlePushTokens } from './push-tokens.ts';

type DeviceSubject = PlacedSubject & { deviceId: string };

/** After this event no user is logged in on its device (docs/tracking.md). */
const LOGOUT = 'millrace_logout';
const isLogout = ({ event }: IngestedCall) => event?.name === LOGOUT;
/** The user that a logout names. No user id is empty. */
const NO_USER = '';

/** The members of a device that calls say, each by itself: of the calls that say it, the last one counts. */
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
} as const satisfies Record<string, [type: string, read: (call: IngestedCall) => string | number | boolean | null]>;

type Member = keyof typeof MEMBERS;

const COLUMNS = Object.keys(MEMBERS) as Member[];
/** The column with the time at which a member was said. */
export const saidAt = (column: Member) => `${column}_said_at` as const;

/** The columns with the time of each member. */
export const SAID_AT_COLUMNS = COLUMNS.map(saidAt);

/** Of Segment's mobile spec: a server sends it for a device. Any later call shows that the app is there. */
const UNINSTALLED = 'Application Uninstalled';

/** When calls said a member; their row names the time unless it is that of the last call. */
const saidByCalls = (column: Member) =>
  `CASE WHEN num_nonnulls(${column}, ${saidAt(column)}) > 0 THEN least(coalesce(${saidAt(column)}, last_seen_at), now()) END`;
/** When the member that stands in a row `d` was said. Null: never. */
const knownAt = (column: Member) =>
  `coalesce(d.${saidAt(column)}, CASE WHEN d.${column} IS NOT NULL THEN d.last_seen_at END)`;
/** Whether the calls said a member later than it was said before. NULL if they do not say it. */
const isNewer = (column: Member) => `excluded.${saidAt(column)} >= coalesce(${knownAt(column)}, '-infinity')`;

/**
 * Whether a row `d` has a logout among the calls from after a user token vouched for its user, whatever logins came
 * since.
 */
const IS_LOGGED_OUT = `EXISTS (SELECT FROM unnest($7::integer[], $8::text[], $9::timestamptz[]) AS logout (app_id, device_id, at)
  WHERE logout.app_id = d.app_id AND logout.device_id = d.device_id AND logout.at >= coalesce(d.verified_at, '-infinity'))`;

const UPSERT_USERS = `INSERT INTO device_users AS u (entity_id, app_id, device_id, user_id, last_seen_at)
  SELECT $1, app_id, device_id, user_id, least(last_seen_at, now())
  FROM unnest($3::integer[], $4::text[], $5::text[], $6::timestamptz[]) AS given (app_id, device_id, user_id, last_seen_at)
  ORDER BY app_id, device_id COLLATE "C", user_id COLLATE "C"
  ON CONFLICT (entity_id, app_id, device_id, user_id) DO UPDATE SET last_seen_at = excluded.last_seen_at
  WHERE u.last_seen_at < excluded.last_seen_at`;

/**
 * Writes what devices are now, and who was seen on them; their session heads are locked. Each member has the time at
 * which it was said: a late call changes those that were said before it, and no others. At equal times the call that
 * comes last counts. Another push token, or a logout, ends what a user token vouched for: the app's key is enough to
 * send it. A time ahead of its receipt counts as the receipt: a clock ahead would keep out all that comes after it.
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

/** `isTokenLost`: the push token that its calls say is another device's, so that it has none. */
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
