import type { Client } from '@temporalio/client';
import { startExportRun } from '../activities/exports/start-export-run.ts';
import { wakeFeed } from '../activities/feed/wake-feed.ts';
import { startGdprRequest } from '../activities/gdpr/start-gdpr.ts';
import { tellHoldsChanged } from '../activities/gdpr/tell-holds-changed.ts';
import { startImport } from '../activities/imports/start-import.ts';
import { followExporter, followSchedule } from '../activities/jobs/follow-schedule.ts';
import { startSyncRun } from '../activities/syncs/start-sync-run.ts';
import type { ServerDependencies } from '../server/dependencies.ts';
import type { Database } from '../store/core/database.ts';

/** What requests tell Temporal. Each call fails after `withinMs`, so that no request waits for a Temporal that is away. */
export function flowsOver({ db, temporal }: { db: Database; temporal: Client }, withinMs: number): ServerDependencies['flows'] {
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
