/** Apps and devices in which customers were seen. */

import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { idsOf } from '../gdpr/people-keys.ts';
import { type Person, personKey } from '../gdpr/tombstones.ts';

export type Application = { appIdentifier: string; sorIdentifier: string; deviceIds: string[] };

/** Maximum number of listed devices of a customer, those seen last. */
const MAX_DEVICES = 1_000;

/** Lists the apps of these customers by `personKey`; customers without an app are left out. */
export async function listApplications(
  db: Queryable,
  entityId: number,
  people: readonly Person[],
): Promise<Map<string, Application[]>> {
  const found = new Map<string, Application[]>();
  const { rows: apps } = await db.query('SELECT FROM apps WHERE entity_id = $1 LIMIT 1', [entityId]);
  if (apps.length === 0) return found;
  // Users use device_users_by_user; a device uses the primary key in each app.
  const rows = readRows<Person & Application>(
    await db.query(
      `SELECT seen.customer_type, seen.customer_id, a.identifier AS app_identifier,
       s.identifier AS sor_identifier,
       array_agg(seen.device_id ORDER BY seen.device_id) AS device_ids
     FROM (
       SELECT 'user_id' AS customer_type, asked.user_id AS customer_id, u.app_id, u.device_id
       FROM unnest($2::text[]) AS asked (user_id) CROSS JOIN LATERAL (
         SELECT app_id, device_id FROM device_users
         WHERE entity_id = $1 AND user_id = asked.user_id ORDER BY last_seen_at DESC LIMIT ${MAX_DEVICES}) u
       UNION ALL
       SELECT 'device_id', d.device_id, d.app_id, d.device_id
       FROM (SELECT id FROM apps WHERE entity_id = $1) AS own JOIN devices d ON d.entity_id = $1 AND d.app_id = own.id
         AND d.device_id = ANY ($3::text[])
     ) seen
     JOIN apps a ON a.entity_id = $1 AND a.id = seen.app_id
     JOIN systems_of_records s ON s.entity_id = $1 AND s.app_id = a.id AND s.deleted_at IS NULL
     GROUP BY seen.customer_type, seen.customer_id, a.id, a.identifier, s.identifier ORDER BY a.id`,
      idsOf(entityId, people),
    ),
  );
  for (const { customerType, customerId, ...application } of rows) {
    const key = personKey({ customerType, customerId });
    found.set(key, [...(found.get(key) ?? []), application]);
  }
  return found;
}

/** Returns the last user of a device in an app; with `appId` null, in the app that had one last. Null: none. */
export async function findLastUser(
  db: Queryable,
  entityId: number,
  appId: number | null,
  deviceId: string,
): Promise<string | null> {
  const rows = readRows<Row<'devices', never, { lastUserId: string }>>(
    await db.query(
      `SELECT d.last_user_id FROM (SELECT id FROM apps WHERE entity_id = $1 AND ($2::integer IS NULL OR id = $2)) AS own
     JOIN devices d ON d.entity_id = $1 AND d.app_id = own.id AND d.device_id = $3
     WHERE d.last_user_id IS NOT NULL ORDER BY coalesce(d.last_user_id_said_at, d.last_seen_at) DESC LIMIT 1`,
      [entityId, appId, deviceId],
    ),
  );
  return rows[0]?.lastUserId ?? null;
}
