import { createHash, randomBytes } from 'node:crypto';
import type { Database, Queryable } from '../../../store/core/database.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';

/** When what is told below happened, unless told otherwise. */
const AT = new Date('2026-11-05T10:00:00Z');

export function ensureSampleMonths(db: Database): Promise<void> {
  return ensurePartitions(db, [AT]);
}

export async function sampleApp(tx: Queryable, entityId: number): Promise<number> {
  const name = randomBytes(6).toString('hex');
  const { rows } = await tx.query<{ id: number }>(
    `INSERT INTO apps (entity_id, identifier, name, package_name, app_type) VALUES ($1, $2, 'App', $2, 'Web App') RETURNING id`,
    [entityId, `app_${name}`],
  );
  return rows[0]!.id;
}

export type SampleActivity = {
  appId: number;
  at?: Date;
  deviceId: string | null;
  userId: string | null;
  title?: string;
};

/**
 * A session with an event, a crash and a place, and what is remembered of device and user. The month's partitions are
 * there.
 */
export async function sampleActivity(
  tx: Queryable,
  entityId: number,
  { appId, at = AT, deviceId, userId, title = 'Crashed' }: SampleActivity,
): Promise<void> {
  const subject = deviceId === null ? `u${userId}` : `d${deviceId}`;
  const {
    rows: [session],
  } = await tx.query<{ id: number }>(
    `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id, user_id)
     VALUES ($1, $2, $3, $3, 120, $4, $5, $6) RETURNING id`,
    [entityId, appId, at, subject, deviceId, userId],
  );
  await tx.query(
    `INSERT INTO session_heads (entity_id, app_id, subject, session_id, started_at, ended_at) VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (entity_id, app_id, subject) DO UPDATE
     SET session_id = excluded.session_id, started_at = excluded.started_at, ended_at = excluded.ended_at`,
    [entityId, appId, subject, session!.id, at],
  );
  const {
    rows: [crash],
  } = await tx.query<{ id: number }>(
    `INSERT INTO crashes (entity_id, app_id, identifier, fingerprint, title, first_seen_at, last_seen_at, occurrences)
     VALUES ($1, $2, $3, $4, $5, $6, $6, 1)
     ON CONFLICT (entity_id, app_id, fingerprint) DO UPDATE
     SET last_seen_at = greatest(crashes.last_seen_at, excluded.last_seen_at), occurrences = crashes.occurrences + 1 RETURNING id`,
    [
      entityId,
      appId,
      `crash_${randomBytes(6).toString('hex')}`,
      createHash('sha256').update(title).digest(),
      title,
      at,
    ],
  );
  const whose = [entityId, appId, at, session!.id, deviceId, userId];
  await tx.query(
    `INSERT INTO events (entity_id, app_id, happened_at, session_id, device_id, user_id, log_type, name, crash_id)
     VALUES ($1, $2, $3, $4, $5, $6, 1, 'Application Crashed', $7)`,
    [...whose, crash!.id],
  );
  await tx.query(
    `INSERT INTO locations (entity_id, app_id, happened_at, session_id, device_id, user_id, latitude, longitude)
     VALUES ($1, $2, $3, $4, $5, $6, 48.85, 2.35)`,
    whose,
  );
  await tx.query(
    `INSERT INTO tracked_counts (entity_id, app_id, day, events, sessions, locations)
     VALUES ($1, $2, ($3::timestamptz AT TIME ZONE 'UTC')::date, 1, 1, 1)`,
    [entityId, appId, at],
  );
  if (deviceId !== null) await sampleDevice(tx, entityId, { appId, at, deviceId, userId });
}

async function sampleDevice(
  tx: Queryable,
  entityId: number,
  { appId, at, deviceId, userId }: { appId: number; at: Date; deviceId: string; userId: string | null },
): Promise<void> {
  await tx.query(
    `INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, first_seen_at, last_seen_at, last_city)
     VALUES ($1, $2, $3, $4, $4, $5, $5, 'Paris')
     ON CONFLICT (entity_id, app_id, device_id) DO UPDATE SET current_user_id = coalesce($4, devices.current_user_id),
       last_user_id = coalesce($4, devices.last_user_id), last_seen_at = $5`,
    [entityId, appId, deviceId, userId, at],
  );
  if (userId === null) return;
  await tx.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (entity_id, app_id, device_id, user_id) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
    [entityId, appId, deviceId, userId, at],
  );
}

/** All that the tables of SDKs' data may hold of somebody. */
export async function sampleSdkData(
  tx: Queryable,
  entityId: number,
  { appId, deviceId, userId }: { appId: number; deviceId: string; userId: string },
): Promise<void> {
  await sampleActivity(tx, entityId, { appId, deviceId, userId, title: `${userId} is not signed in` });
  await sampleActivity(tx, entityId, { appId, deviceId: null, userId, title: `${userId} is not signed in` });
  await tx.query('INSERT INTO user_aliases (entity_id, previous_id, user_id) VALUES ($1, $2, $3)', [
    entityId,
    `old ${userId}`,
    userId,
  ]);
  await tx.query(
    `INSERT INTO live_calls (entity_id, app_id, received_at, outcome, message_id, call, subjects)
     VALUES ($1, $2, now(), 'accepted', $3, $4, $5)`,
    [
      entityId,
      appId,
      `m-${userId}`,
      JSON.stringify({ type: 'track', userId, anonymousId: deviceId }),
      [`u${userId}`, `d${deviceId}`],
    ],
  );
  await tx.query(
    `INSERT INTO refused_calls (entity_id, app_id, index, message_id, code, message, raw, subjects)
     VALUES ($1, $2, 0, $3, 'invalid', $4, $5, $6)`,
    [
      entityId,
      appId,
      `m-${userId}`,
      `a call of ${userId} names no event`,
      JSON.stringify({ type: 'track', userId }),
      [`u${userId}`],
    ],
  );
}
