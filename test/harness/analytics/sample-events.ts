import type { Queryable } from '../../../store/core/database.ts';

export type SampleEvent = {
  appId: number;
  at: Date;
  name: string;
  logType?: number;
  device?: string | null;
  user?: string | null;
  detail?: unknown;
};

/** Inserts events as they are, in their order, and nothing else of them; their months' partitions are there. */
export async function insertSampleEvents(
  db: Queryable,
  entityId: number,
  events: readonly SampleEvent[],
): Promise<void> {
  const rows = events.map(({ appId, at, name, logType = 2, device = null, user = null, detail }) => ({
    app_id: appId,
    at,
    name,
    log_type: logType,
    device_id: device,
    user_id: user,
    detail: detail ?? null,
  }));
  await db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, name, device_id, user_id, detail)
     SELECT $1, app_id, at, log_type, name, device_id, user_id, nullif(detail, 'null') FROM json_to_recordset($2::json)
       AS e (app_id integer, at timestamptz, log_type smallint, name text, device_id text, user_id text, detail jsonb)`,
    [entityId, JSON.stringify(rows)],
  );
}

/** That these users were seen on a device. */
export async function insertDeviceUsers(
  db: Queryable,
  entityId: number,
  appId: number,
  device: string,
  users: readonly string[],
): Promise<void> {
  await db.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) SELECT $1, $2, $3, user_id, now()
     FROM unnest($4::text[]) AS user_id`,
    [entityId, appId, device, users],
  );
}
