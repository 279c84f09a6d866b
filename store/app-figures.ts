import type { Queryable } from './database.ts';

/** What an app's devices come to. */
export type AppFigures = {
  /** Any device or session. */
  hasUsageData: boolean;
  hasPemFile: boolean;
  /** Of the device last seen, of those that told of one. */
  lastSdkVersion: string | null;
  /** Devices. */
  downloads: number;
  /** The UTC day of the newest device's first sight, in seconds since the epoch. */
  downloadsLastReportDay: number | null;
  /** Devices seen in the last 30 days. */
  monthlyActive: number;
};

type FiguresRow = {
  id: number; has_usage_data: boolean; has_pem_file: boolean; last_sdk_version: string | null; downloads: number;
  last_report_day: number | null; monthly_active: number;
};

/** The figures of each of the apps, by its id. */
export async function listAppFigures(db: Queryable, entityId: number, appIds: number[]): Promise<Map<number, AppFigures>> {
  // Reads each app's devices by their primary key, twice; of sessions and certificates it looks for one.
  const { rows } = await db.query<FiguresRow>(
    `SELECT a.id, d.downloads, d.last_report_day, d.monthly_active, l.sdk_version AS last_sdk_version,
       d.downloads > 0 OR EXISTS (SELECT FROM sessions s WHERE s.entity_id = $1 AND s.app_id = a.id) AS has_usage_data,
       EXISTS (SELECT FROM push_certificates c WHERE c.entity_id = $1 AND c.app_id = a.id AND NOT c.revoked AND c.not_after > now())
         AS has_pem_file
     FROM unnest($2::integer[]) AS a (id)
     CROSS JOIN LATERAL (
       SELECT count(*) AS downloads,
         count(*) FILTER (WHERE last_seen_at > now() - interval '30 days') AS monthly_active,
         extract(epoch FROM date_trunc('day', max(first_seen_at), 'UTC'))::bigint AS last_report_day
       FROM devices WHERE entity_id = $1 AND app_id = a.id) d
     LEFT JOIN LATERAL (
       SELECT sdk_version FROM devices WHERE entity_id = $1 AND app_id = a.id AND sdk_version IS NOT NULL
       ORDER BY last_seen_at DESC, device_id LIMIT 1) l ON true`,
    [entityId, appIds]);
  return new Map(rows.map((row) => [row.id, toFigures(row)]));
}

function toFigures(row: FiguresRow): AppFigures {
  return {
    hasUsageData: row.has_usage_data, hasPemFile: row.has_pem_file, lastSdkVersion: row.last_sdk_version, downloads: row.downloads,
    downloadsLastReportDay: row.last_report_day, monthlyActive: row.monthly_active,
  };
}
