import type { Tx } from '../core/database.ts';
import { type IngestedCall, lastOf, type PlacedSubject, timestamp } from './ingested-call.ts';

type DeviceSubject = PlacedSubject & { deviceId: string };

/** What a device is known by: of the calls that tell of it, the last. */
const TOLD = {
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
  current_user_id: ['text', ({ userId }) => userId],
  last_user_id: ['text', ({ userId }) => userId],
} as const satisfies Record<string, [type: string, tell: (call: IngestedCall) => string | number | boolean | null]>;

/** Of Segment's mobile spec: a server sends it for a device. Any later call shows that the app is there. */
const UNINSTALLED = 'Application Uninstalled';

type Told = keyof typeof TOLD;
const COLUMNS = Object.keys(TOLD) as Told[];

const UPSERT_USERS = `INSERT INTO device_users AS u (entity_id, app_id, device_id, user_id, last_seen_at)
  SELECT $1, app_id, device_id, user_id, least(last_seen_at, now())
  FROM unnest($3::integer[], $4::text[], $5::text[], $6::timestamptz[]) AS given (app_id, device_id, user_id, last_seen_at)
  ORDER BY app_id, device_id COLLATE "C", user_id COLLATE "C"
  ON CONFLICT (entity_id, app_id, device_id, user_id) DO UPDATE SET last_seen_at = excluded.last_seen_at
  WHERE u.last_seen_at < excluded.last_seen_at`;

/**
 * What devices are now, and who was seen on them; their session heads are locked. What calls tell replaces what was told
 * before them. Where all of them come late, before a call that is known already, they fill only what no call told. Another push token ends
 * what a user token vouched for: the app's key is enough to send it. A time ahead of its receipt counts as the receipt: a clock ahead would
 * keep out all that comes after it.
 */
export async function upsertDevices(tx: Tx, entityId: number, subjects: readonly PlacedSubject[]): Promise<void> {
  const devices = subjects.filter((subject): subject is DeviceSubject => subject.deviceId !== null);
  if (devices.length === 0) return;
  const newest = (column: Told) =>
    `CASE WHEN excluded.last_seen_at >= d.last_seen_at THEN coalesce(excluded.${column}, d.${column})
       ELSE coalesce(d.${column}, excluded.${column}) END`;
  const seen = devices.flatMap(usersSeen);
  await tx.query({
    name: 'upsert-devices',
    text: `WITH seen AS (${UPSERT_USERS})
           INSERT INTO devices AS d (entity_id, app_id, device_id, uninstalled, number_of_sessions, number_of_crashes,
             first_seen_at, last_seen_at, ${COLUMNS.join(', ')})
           SELECT $1, app_id, device_id, uninstalled, number_of_sessions, number_of_crashes, least(first_seen_at, now()),
             least(last_seen_at, now()), ${COLUMNS.join(', ')}
           FROM json_to_recordset($2) AS given (app_id integer, device_id text, uninstalled boolean, number_of_sessions integer,
             number_of_crashes integer, first_seen_at timestamptz, last_seen_at timestamptz,
             ${COLUMNS.map((column) => `${column} ${TOLD[column][0]}`).join(', ')})
           ORDER BY app_id, device_id COLLATE "C"
           ON CONFLICT (entity_id, app_id, device_id) DO UPDATE SET
             verified_user_id = CASE WHEN ${newest('push_token')} IS NOT DISTINCT FROM d.push_token THEN d.verified_user_id END,
             uninstalled = CASE WHEN excluded.last_seen_at >= d.last_seen_at THEN excluded.uninstalled ELSE d.uninstalled END,
             number_of_sessions = d.number_of_sessions + excluded.number_of_sessions,
             number_of_crashes = d.number_of_crashes + excluded.number_of_crashes,
             first_seen_at = least(d.first_seen_at, excluded.first_seen_at),
             last_seen_at = greatest(d.last_seen_at, excluded.last_seen_at), received_at = now(),
             ${COLUMNS.map((column) => `${column} = ${newest(column)}`).join(', ')}`,
    values: [entityId, JSON.stringify(devices.map(toRow)), seen.map(({ appId }) => appId), seen.map(({ deviceId }) => deviceId),
      seen.map(({ userId }) => userId), seen.map(({ at }) => timestamp(at))],
  });
}

function toRow({ appId, deviceId, calls, placed, head }: DeviceSubject): Record<string, unknown> {
  const row: Record<string, unknown> = {
    app_id: appId, device_id: deviceId, uninstalled: calls.at(-1)!.event?.name === UNINSTALLED,
    number_of_sessions: placed.filter(({ foundAt }) => foundAt === null).length,
    number_of_crashes: calls.filter(({ event }) => event?.logType === 1).length,
    first_seen_at: timestamp(calls[0]!.happenedAt), last_seen_at: timestamp(calls.at(-1)!.happenedAt),
  };
  const onTime = head === null ? calls : calls.filter(({ happenedAt }) => happenedAt >= head.endedAt);
  const telling = onTime.length === 0 ? calls : onTime;
  for (const column of COLUMNS) {
    const told = lastOf<string | number | boolean>(telling, TOLD[column][1]);
    if (told !== null) row[column] = told;
  }
  return row;
}

function usersSeen({ appId, deviceId, calls }: DeviceSubject) {
  const lastSeen = new Map<string, number>();
  for (const { userId, happenedAt } of calls) if (userId !== null) lastSeen.set(userId, happenedAt);
  return Array.from(lastSeen, ([userId, at]) => ({ appId, deviceId, userId, at }));
}
