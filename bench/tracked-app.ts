import type pg from 'pg';
import { openDatabase } from '../store/core/database.ts';
import { ensurePartitions } from '../store/tracking/event-partitions.ts';
import type { BenchContext } from './line.ts';
import { call, type RunningService } from './service.ts';

export type TrackedApp = { identifier: string; id: number; entityId: number };

/** An app that knows these events, alone in tables that are empty otherwise, with a partition for events from that day on. */
export async function makeTrackedApp(
  client: pg.Client, context: BenchContext, { url, token }: RunningService, { from, eventNames }: { from: string; eventNames: string[] },
): Promise<TrackedApp> {
  const name = `tracked${process.hrtime.bigint()}`;
  const body = { name, package_name: `com.example.${name}`, app_type: 'Android App' };
  const { identifier } = await call<{ identifier: string }>(url, token, 'POST', '/api/apps', body);
  const db = openDatabase({ url: await context.databaseUrl(), max: 1 });
  await ensurePartitions(db, [new Date(from)]);
  await db.end();
  const { rows: [app] } = await client.query<{ id: number; entity_id: number }>(
    'SELECT id, entity_id FROM apps WHERE identifier = $1', [identifier]);
  const { id, entity_id: entityId } = app!;
  await deleteTracked(client);
  await client.query(
    'INSERT INTO event_definitions (entity_id, app_id, log_type, name) SELECT $1, $2, 2, name FROM unnest($3::text[]) AS name',
    [entityId, id, eventNames]);
  return { identifier, id, entityId };
}

/** One device of each user. */
export async function insertDeviceUsers(client: pg.Client, { entityId, id }: TrackedApp, people: number): Promise<void> {
  await client.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1, $2, 'device-' || lpad(person::text, 9, '0'), 'user-' || lpad(person::text, 9, '0'), now()
     FROM generate_series(0, ${people - 1}) person`, [entityId, id]);
}

export async function deleteTracked(client: pg.Client): Promise<void> {
  await client.query('TRUNCATE events, device_users, devices');
}
