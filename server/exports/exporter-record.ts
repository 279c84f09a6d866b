/** Exporters as the API shows them. */
import type * as api from '../../api/exports/data-exporters.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { exportSchedule, lastMidnight, latestDue } from '../../domain/exports/export-schedule.ts';
import { nextRuns } from '../../domain/syncs/sync-schedule.ts';
import { DAY_MS, HOUR_MS } from '../../domain/time/durations.ts';
import { findEntityZone } from '../../store/accounts/entities.ts';
import { type App, listAppsById } from '../../store/apps/apps.ts';
import { listSorNames, type SorType } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { findExporter } from '../../store/exports/data-exporters.ts';
import { listRecentExports, type RecentExport } from '../../store/exports/recent-exports.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';

/** Returns the caller's exporter, locked if `find` is `lockExporter`. Refuses an unknown one with 404. */
export async function knownExporter(
  db: Queryable,
  entityId: number,
  identifier: string,
  find = findExporter,
): Promise<DataExporter> {
  return (await find(db, entityId, identifier)) ?? refuse(404, 'not_found', 'Automated data exporter not found');
}

export async function listedExporters(
  db: Queryable,
  entityId: number,
  exporters: DataExporter[],
): Promise<api.ListedDataExporter[]> {
  const apps = await listAppsById(db, entityId, [...new Set(exporters.flatMap(({ appIds }) => appIds))]);
  const sors = await listSorNames(db, entityId, [...new Set(exporters.flatMap(({ sorIds }) => sorIds))]);
  const zone = await findEntityZone(db, entityId);
  const now = new Date();
  return exporters.map((exporter) => ({
    ...showListed(exporter, apps, sors),
    ...showSchedule(exporter, zone, now),
  }));
}

/** Time that a due run may take, with its wait for writers. */
const GRACE_MS = HOUR_MS;

/** Returns the window that was due by now and is not exported; null if there is none. */
export function missingWindow(
  { identifier, active, updatedAt, exportedUntil, exportsSince }: DataExporter,
  zone: string,
  now: Date,
): { start: Date | null; end: Date } | null {
  if (!active) return null;
  const past = new Date(now.getTime() - GRACE_MS);
  const due = latestDue(exportSchedule(identifier, zone), new Date(past.getTime() - 2 * DAY_MS), past);
  if (due <= updatedAt) return null;
  const [start, end] = [exportedUntil ?? exportsSince, lastMidnight(zone, due)];
  return start && start >= end ? null : { start, end };
}

function showSchedule(exporter: DataExporter, zone: string, now: Date) {
  const { identifier, active, exportedUntil, failures, paused } = exporter;
  const next = active && !paused ? nextRuns(exportSchedule(identifier, zone), now, 1)[0]! : null;
  const missing = missingWindow(exporter, zone, now);
  return {
    exported_until: exportedUntil && wholeSeconds(exportedUntil),
    next_run_at: next && wholeSeconds(next),
    missing_window: missing && {
      start: missing.start && wholeSeconds(missing.start),
      end: wholeSeconds(missing.end),
    },
    time_zone: zone,
    failures,
    paused_at: paused && wholeSeconds(paused.at),
    paused_reason: paused?.reason ?? null,
  };
}

export async function showExporter(db: Queryable, exporter: DataExporter): Promise<api.DataExporter> {
  const { entityId } = exporter;
  const [listed] = await listedExporters(db, entityId, [exporter]);
  const exports = await listRecentExports(db, entityId, exporter.id);
  return { ...listed!, ...showSettings(exporter), ...showOrigin(exporter), exports: showExports(exports) };
}

function showListed(exporter: DataExporter, apps: Map<number, App>, sors: Map<number, Sor>) {
  const { identifier, name, type, active, subfolder, bucketName, region, exportedData, initialRunAt, lastRunAt } =
    exporter;
  return {
    identifier,
    name,
    type,
    active,
    apps: inOrder(exporter.appIds, apps).map(showApp),
    subfolder,
    bucket_name: bucketName,
    aws_region: region,
    exported_data: exportedData,
    initial_run_at: initialRunAt && wholeSeconds(initialRunAt),
    last_run_at: lastRunAt && wholeSeconds(lastRunAt),
    sors: inOrder(exporter.sorIds, sors).map(showSor),
  };
}

function showSettings(exporter: DataExporter) {
  return {
    revision: exporter.revision,
    server_side_encryption: exporter.serverSideEncryption,
    kms_key_id: exporter.kmsKeyId,
    content_md5: exporter.contentMd5,
    encryption_type: exporter.encryptionType ?? '',
    aws_account_id: exporter.accountId,
    aws_role_name: exporter.roleName,
    endpoint: exporter.endpoint,
    format: exporter.format,
    include_headers: exporter.includeHeaders,
    part_bytes: exporter.partBytes,
    export_since: exporter.exportsSince && wholeSeconds(exporter.exportsSince),
    notify_emails: exporter.notifyEmails,
    notify_connections: exporter.notifyConnections,
  };
}

function showOrigin({ createdBy, createdAt, updatedAt }: DataExporter) {
  return { created_by: createdBy, created_at: wholeSeconds(createdAt), updated_at: wholeSeconds(updatedAt) };
}

function showApp({ name, identifier, packageName, appType }: App) {
  return { name, identifier, package_name: packageName, platform: appType };
}

type Sor = { name: string; identifier: string; type: SorType };

function showSor({ name, identifier, type }: Sor) {
  return { name, identifier, type };
}

function showExports(exports: RecentExport[]): Record<string, api.Export[]> {
  const shown: Record<string, api.Export[]> = {};
  for (const { identifier, windowEnd, dataType, files, rows } of exports) {
    (shown[Math.floor(windowEnd.getTime() / 1000)] ??= []).push({
      identifier,
      date: wholeSeconds(windowEnd),
      type: dataType,
      total_files: files,
      total_exported: rows,
    });
  }
  return shown;
}

/** Returns those that still exist: a System of Records may have been deleted. */
function inOrder<T>(ids: number[], found: Map<number, T>): T[] {
  return ids.flatMap((id) => found.get(id) ?? []);
}
