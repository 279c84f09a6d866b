import { findAppsByKey, type KeyedApp } from '../apps/app-api-keys.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';

/** The target of a write key: the apps that have it, at least one, and facts of their entity. */
export type TrackingTarget = {
  entityId: number;
  apps: [KeyedApp, ...KeyedApp[]];
  globalSorId: number | null;
  retentionMonths: number;
};

export async function findTrackingTarget(
  db: Queryable,
  secrets: Secrets,
  writeKey: string,
): Promise<TrackingTarget | null> {
  const [first, ...others] = await findAppsByKey(db, secrets, writeKey);
  if (!first) return null;
  const {
    rows: [found],
  } = await db.query<{ retention: number; global_sor_id: number | null }>({
    name: 'find-tracking-target',
    text: `SELECT e.data_retention_in_months AS retention, s.id AS global_sor_id FROM entities e
           LEFT JOIN systems_of_records s ON s.entity_id = e.id AND s.type = 'global' AND s.deleted_at IS NULL WHERE e.id = $1`,
    values: [first.entityId],
  });
  if (!found) return null;
  return {
    entityId: first.entityId,
    apps: [first, ...others],
    globalSorId: found.global_sor_id,
    retentionMonths: found.retention,
  };
}
