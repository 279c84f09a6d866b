/** The target of a write key: the apps that have it, and facts of their entity. */

import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';

export type KeyedApp = Row<'apps', 'entityId' | 'identifier' | 'packageName' | 'appType' | 'sessionTimeout'> & {
  appId: number;
  sorId: number;
  timezone: string;
};

export type TrackingTarget = EntityFacts & { entityId: number; apps: [KeyedApp, ...KeyedApp[]] };

type EntityFacts = { globalSorId: number | null; retentionMonths: number };

/** Finds the apps with this key, not revoked, of an active entity, by id. No other entity ever gets a used value. */
export async function findTrackingTarget(
  db: Queryable,
  secrets: Secrets,
  writeKey: string,
): Promise<TrackingTarget | null> {
  // Planned once a session: each request of an SDK runs both. Uses the keys of key_lookups, then app_api_keys_by_value.
  const [first, ...others] = readRows<KeyedApp>(
    await db.query({
      name: 'find-apps-by-key',
      text: `SELECT a.entity_id, a.id AS app_id, s.id AS sor_id, a.identifier, a.package_name, a.app_type, a.default_tz AS timezone,
       a.session_timeout
     FROM key_lookups l
     JOIN entities e ON e.id = l.entity_id AND e.active
     JOIN app_api_keys k ON k.entity_id = l.entity_id AND k.lookup = l.lookup AND NOT k.revoked
     JOIN apps a ON a.entity_id = k.entity_id AND a.id = k.app_id
     JOIN systems_of_records s ON s.entity_id = a.entity_id AND s.app_id = a.id AND s.deleted_at IS NULL
     WHERE l.lookup = $1 AND l.kind = 'app' ORDER BY a.id`,
      values: [secrets.lookup(writeKey)],
    }),
  );
  if (!first) return null;
  const { entityId } = first;
  const facts = readRow<EntityFacts>(
    await db.query({
      name: 'find-tracking-target',
      text: `SELECT e.data_retention_in_months AS retention_months, s.id AS global_sor_id FROM entities e
           LEFT JOIN systems_of_records s ON s.entity_id = e.id AND s.type = 'global' AND s.deleted_at IS NULL WHERE e.id = $1`,
      values: [entityId],
    }),
  );
  return facts && { entityId, apps: [first, ...others], ...facts };
}
