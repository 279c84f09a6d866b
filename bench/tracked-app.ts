import type pg from 'pg';
import { openDatabase } from '../store/core/database.ts';
import { ensurePartitions } from '../store/tracking/event-partitions.ts';
import type { BenchContext } from './line.ts';
import { call, type Caller, type RunningService } from './service.ts';

export type TrackedApp = { identifier: string; id: number; entityId: number };

/** Makes an app, and the partitions for events of these days. */
export async function makeApp(
  client: pg.Client,
  context: BenchContext,
  { url, token }: Caller,
  days: (Date | number)[],
): Promise<TrackedApp> {
  const name = `tracked${process.hrtime.bigint()}`;
  const body = { name, package_name: `com.example.${name}`, app_type: 'Android App' };
  const { identifier } = await call<{ identifier: string }>(url, token, 'POST', '/api/apps', body);
  const db = openDatabase({ url: await context.databaseUrl(), max: 1 });
  await ensurePartitions(db, days);
  await db.end();
  const {
    rows: [app],
  } = await client.query<{ id: number; entity_id: number }>('SELECT id, entity_id FROM apps WHERE identifier = $1', [
    identifier,
  ]);
  return { identifier, id: app!.id, entityId: app!.entity_id };
}

/** Makes an app that knows these events, in otherwise empty tables. */
export async function makeTrackedApp(
  client: pg.Client,
  context: BenchContext,
  service: RunningService,
  { from, eventNames }: { from: string; eventNames: string[] },
): Promise<TrackedApp> {
  await deleteTracked(client);
  return addTrackedApp(client, context, service, { from, eventNames });
}

/** Makes the same in filled tables. */
export async function addTrackedApp(
  client: pg.Client,
  context: BenchContext,
  caller: Caller,
  { from, eventNames }: { from: string; eventNames: string[] },
): Promise<TrackedApp> {
  const app = await makeApp(client, context, caller, [new Date(from)]);
  await client.query(
    'INSERT INTO event_definitions (entity_id, app_id, log_type, name) SELECT $1, $2, 2, name FROM unnest($3::text[]) AS name',
    [app.entityId, app.id, eventNames],
  );
  return app;
}

/** Inserts one device of each user. */
export async function insertDeviceUsers(
  client: pg.Client,
  { entityId, id }: TrackedApp,
  people: number,
): Promise<void> {
  await client.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1, $2, 'device-' || lpad(person::text, 9, '0'), 'user-' || lpad(person::text, 9, '0'), now()
     FROM generate_series(0, ${people - 1}) person`,
    [entityId, id],
  );
}

export async function deleteTracked(client: pg.Client): Promise<void> {
  await client.query('TRUNCATE events, device_users, devices');
}
