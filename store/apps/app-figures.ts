/** Figures of apps: devices, active ones, versions, certificates. */

import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export type AppFigures = {
  hasUsageData: boolean;
  hasPemFile: boolean;
  hasApiKey: boolean;
  lastSdkVersion: string | null;
  downloads: number;
  /** The UTC day on which the newest device was first seen, in seconds since the epoch. */
  downloadsLastReportDay: number | null;
  monthlyActive: number;
  push: PushDevices;
};

/** Devices of an app by whether a push reaches them; the first of the reasons counts. They add up to all devices. */
export type PushDevices = { reachable: number; uninstalled: number; withoutToken: number; turnedOff: number };

type OfDevices = Pick<AppFigures, 'lastSdkVersion' | 'downloads' | 'downloadsLastReportDay' | 'monthlyActive' | 'push'>;

const NO_DEVICES: OfDevices = {
  lastSdkVersion: null,
  downloads: 0,
  downloadsLastReportDay: null,
  monthlyActive: 0,
  push: { reachable: 0, uninstalled: 0, withoutToken: 0, turnedOff: 0 },
};

/** Figures that take longer than this to count are kept a hundred times as long as they took. */
const QUICK_MS = 100;
const KEPT_FOR_TIMES = 100;

/** By the id of the app, which is never reused. */
export type KeptFigures = Map<number, OfDevices & { untilMs: number }>;

/** Returns the figures of apps by id. Counts those in `kept` again only once they have expired. */
export async function listAppFigures(
  db: Queryable,
  entityId: number,
  appIds: number[],
  kept: KeptFigures,
): Promise<Map<number, AppFigures>> {
  const ofDevices = await countDevices(db, entityId, appIds, kept);
  const idle = appIds.filter((id) => !ofDevices.has(id));
  // Reads a row of each app, by the keys of sessions and fingerprints. ORDER BY keeps the planner from reading all.
  const rows = readRows<Row<'sessions', 'id'> & { hasSessions: boolean; hasPemFile: boolean; hasApiKey: boolean }>(
    await db.query(
      `SELECT a.id,
       a.id = ANY ($3) AND (SELECT s.id FROM sessions s WHERE s.entity_id = $1 AND s.app_id = a.id
         ORDER BY s.app_id, s.started_at DESC LIMIT 1) IS NOT NULL AS has_sessions,
       EXISTS (SELECT FROM push_certificates c WHERE c.entity_id = $1 AND c.app_id = a.id AND NOT c.revoked AND c.not_after > now())
         AS has_pem_file,
       EXISTS (SELECT FROM app_api_keys k WHERE k.entity_id = $1 AND k.app_id = a.id AND NOT k.revoked) AS has_api_key
     FROM unnest($2::integer[]) AS a (id)`,
      [entityId, appIds, idle],
    ),
  );
  return new Map(
    rows.map(({ id, hasSessions, ...has }) => {
      const figures = ofDevices.get(id) ?? NO_DEVICES;
      return [id, { ...figures, ...has, hasUsageData: figures.downloads > 0 || hasSessions }];
    }),
  );
}

async function countDevices(
  db: Queryable,
  entityId: number,
  appIds: number[],
  kept: KeptFigures,
): Promise<Map<number, OfDevices>> {
  const begunMs = performance.now();
  const isKept = (id: number) => (kept.get(id)?.untilMs ?? 0) > begunMs;
  const counted = await countNow(
    db,
    entityId,
    appIds.filter((id) => !isKept(id)),
  );
  const tookMs = performance.now() - begunMs;
  const total = [...counted.values()].reduce((sum, { downloads }) => sum + downloads, 0);
  for (const [id, figures] of counted) {
    const itsMs = (tookMs * figures.downloads) / total;
    if (itsMs > QUICK_MS) kept.set(id, { ...figures, untilMs: begunMs + itsMs * KEPT_FOR_TIMES });
  }
  for (const id of appIds.filter(isKept)) counted.set(id, kept.get(id)!);
  return counted;
}

async function countNow(db: Queryable, entityId: number, appIds: number[]): Promise<Map<number, OfDevices>> {
  // One scan for all apps, whose devices are a part of one index; it returns few versions.
  const rows = readRows<Omit<OfDevices, 'push'> & PushDevices & { appId: number }>(
    await db.query(
      `SELECT app_id, sum(uninstalled)::bigint AS uninstalled, sum(without_token)::bigint AS without_token,
       sum(turned_off)::bigint AS turned_off, sum(devices - uninstalled - without_token - turned_off)::bigint AS reachable,
       sum(devices)::bigint AS downloads, sum(active)::bigint AS monthly_active,
       extract(epoch FROM date_trunc('day', max(first_seen_at), 'UTC'))::bigint AS downloads_last_report_day,
       (array_agg(sdk_version ORDER BY last_seen_at DESC, sdk_version) FILTER (WHERE sdk_version IS NOT NULL))[1] AS last_sdk_version
     FROM (
       SELECT app_id, sdk_version, count(*) AS devices, count(*) FILTER (WHERE last_seen_at > now() - interval '30 days') AS active,
         max(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at,
         count(*) FILTER (WHERE uninstalled) AS uninstalled,
         count(*) FILTER (WHERE uninstalled IS NOT TRUE AND push_token IS NULL) AS without_token,
         count(*) FILTER (WHERE uninstalled IS NOT TRUE AND push_token IS NOT NULL AND opt_in = false) AS turned_off
       FROM devices WHERE entity_id = $1 AND app_id = ANY ($2) GROUP BY app_id, sdk_version) AS by_version
     GROUP BY app_id`,
      [entityId, appIds],
    ),
  );
  return new Map(
    rows.map(({ appId, reachable, uninstalled, withoutToken, turnedOff, ...figures }) => [
      appId,
      { ...figures, push: { reachable, uninstalled, withoutToken, turnedOff } },
    ]),
  );
}

/** Counts an app's devices by whether a push reaches them, as of the figures that are kept. */
export async function countPushDevices(
  db: Queryable,
  entityId: number,
  appId: number,
  kept: KeptFigures,
): Promise<PushDevices> {
  return ((await countDevices(db, entityId, [appId], kept)).get(appId) ?? NO_DEVICES).push;
}
