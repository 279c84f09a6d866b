/** An exporter with a past: the demo exports two weeks of an app's events by real runs, and leaves two days out. */
import { setTimeout as delay } from 'node:timers/promises';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../domain/time/durations.ts';
import type { Database } from '../../store/core/database.ts';
import { insertExportRun } from '../../store/exports/export-runs.ts';
import { type DemoBucket, exporterTo } from './demo-s3.ts';
import { type DemoServer, openDemoDatabase } from './demo-server.ts';
import { sendCalls } from './demo-tracking.ts';

const DAYS = 16;
/** The last days, which no run exports: the exporter needs attention. */
const MISSING_DAYS = 2;
const POLL_MS = 500;

type Past = { entityId: number; appId: number; exporterId: number };

const NAME = 'Events for the warehouse';

/**
 * Makes an app whose events came over two weeks, and an exporter that has run every night but the last two. An earlier
 * demo in the same data folder has made them.
 */
export async function demoPast(
  { url, client }: DemoServer,
  { bucket, databaseUrl }: { bucket: DemoBucket; databaseUrl: string },
): Promise<string> {
  const known = (await client.listDataExporters({})).find(({ name }) => name === NAME);
  if (known) return known.identifier;
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const { identifier: app } = await client.createApp({
    body: { name: 'Demo web shop', package_name: `com.example.web.${Date.now()}`, app_type: 'Web App' },
  });
  const { api_key: key } = await client.createApiKey({ params: { app_identifier: app }, body: {} });
  for (let ago = DAYS; ago > 0; ago -= 1) await sendCalls(url, key, callsOf(today - ago * DAY_MS));
  const { identifier: exporter } = await client.createDataExporter({
    body: {
      name: NAME,
      ...exporterTo(bucket),
      subfolder: 'warehouse',
      app_ids: [app],
      exported_data: ['logs', 'sessions'],
      export_since: new Date(today - DAYS * DAY_MS).toISOString().slice(0, 10),
    },
  });
  await client.activateDataExporter({ params: { exporter_id: exporter } });
  const db = openDemoDatabase(databaseUrl);
  try {
    await exportNights(db, await giveAPast(db, app, exporter), today);
  } finally {
    await db.end();
  }
  return exporter;
}

const EVENTS = ['Page Viewed', 'Product Viewed', 'Product Added', 'Order Completed'];

/** A day's calls, fewer at the weekend. */
function callsOf(day: number): object[] {
  const weekday = new Date(day).getUTCDay();
  const visitors = (weekday % 6 === 0 ? 6 : 14) + (((day / DAY_MS) * 7) % 9);
  return Array.from({ length: visitors }, (_, visitor) =>
    EVENTS.slice(0, 1 + (visitor % EVENTS.length)).map((event, nth) => ({
      type: 'track',
      event,
      messageId: `web-${day}-${visitor}-${nth}`,
      timestamp: new Date(day + 8 * HOUR_MS + (visitor * 20 + nth) * MINUTE_MS).toISOString(),
      context: { device: { id: `web-visitor-${visitor}` }, library: { name: 'analytics.js' } },
    })),
  ).flat();
}

/** Sets the times of receipt that these calls and this exporter would have if they were as old as they say. */
async function giveAPast(db: Database, app: string, exporter: string): Promise<Past> {
  const { rows } = await db.query<{ entity_id: number; app_id: number; exporter_id: number }>(
    `SELECT a.entity_id, a.id AS app_id, x.id AS exporter_id FROM apps a JOIN data_exporters x ON x.entity_id = a.entity_id
     WHERE a.identifier = $1 AND x.identifier = $2`,
    [app, exporter],
  );
  const { entity_id: entityId, app_id: appId, exporter_id: exporterId } = rows[0]!;
  const ids = [entityId, appId];
  await db.query(
    `UPDATE events SET received_at = happened_at + interval '1 minute' WHERE entity_id = $1 AND app_id = $2`,
    ids,
  );
  await db.query(
    `UPDATE sessions SET received_at = ended_at + interval '1 minute' WHERE entity_id = $1 AND app_id = $2`,
    ids,
  );
  return { entityId, appId, exporterId };
}

/** Has the service run the nights that are over, in their order, and waits for their ends. */
async function exportNights(db: Database, { entityId, exporterId }: Past, today: number): Promise<void> {
  for (let ago = DAYS - 1; ago >= MISSING_DAYS; ago -= 1) {
    const end = new Date(today - ago * DAY_MS);
    const scheduledFor = new Date(end.getTime() + 2 * HOUR_MS);
    await insertExportRun(db, entityId, { exporterId, cause: 'schedule', scheduledFor, window: { start: null, end } });
  }
  for (;;) {
    const { rows } = await db.query<{ open: number }>(
      `SELECT count(*)::integer AS open FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 AND ended_at IS NULL`,
      [entityId, exporterId],
    );
    if (rows[0]!.open === 0) break;
    await delay(POLL_MS);
  }
  const times = `created_at = $3, updated_at = $3`;
  await db.query(`UPDATE data_exporters SET ${times} WHERE entity_id = $1 AND id = $2`, [
    entityId,
    exporterId,
    new Date(today - DAYS * DAY_MS),
  ]);
}
