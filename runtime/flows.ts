import type { Client } from '@temporalio/client';
import { followExporter, followSchedule } from '../activities/follow-schedule.ts';
import { startExportRun } from '../activities/start-export-run.ts';
import { startGdprRequest } from '../activities/start-gdpr.ts';
import { startImport } from '../activities/start-import.ts';
import { startSyncRun } from '../activities/start-sync-run.ts';
import { tellHoldsChanged } from '../activities/tell-holds-changed.ts';
import { wakeFeed } from '../activities/wake-feed.ts';
import type { ServerNeeds } from '../server/needs.ts';
import type { Database } from '../store/database.ts';

/** What requests tell Temporal. Each call fails after `withinMs`, so that no request waits for a Temporal that is away. */
export function flowsOver({ db, temporal }: { db: Database; temporal: Client }, withinMs: number): ServerNeeds['flows'] {
  const within = (call: () => Promise<void>) => temporal.connection.withDeadline(Date.now() + withinMs, call);
  return {
    startImport: (ref) => within(() => startImport(temporal, ref)),
    wakeFeed: (entityId) => within(() => wakeFeed(temporal, entityId)),
    startSyncRun: (ref) => within(() => startSyncRun(temporal, ref)),
    startExportRun: (ref) => within(() => startExportRun(temporal, ref)),
    startGdprRequest: (ref, type) => within(() => startGdprRequest(temporal, ref, type)),
    tellHoldsChanged: (requests) => within(() => tellHoldsChanged(temporal, requests)),
    followExporter: (exporter) => within(() => followExporter({ db, temporal }, exporter)),
    followSchedule: (sync) => within(() => followSchedule({ db, temporal }, sync)),
  };
}
