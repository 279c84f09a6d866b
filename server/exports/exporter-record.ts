import { z } from 'zod';
import { APP_TYPES } from '../../domain/apps/app.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { EXPORT_FORMATS } from '../../domain/exports/export-data-type.ts';
import { EXPORTER_TYPES } from '../../domain/exports/exporter.ts';
import { type App, listAppsById } from '../../store/apps/apps.ts';
import { listSorNames, type SorType } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { DataExporter, ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { findExporter } from '../../store/exports/data-exporters.ts';
import { listRecentExports, type RecentExport } from '../../store/exports/recent-exports.ts';
import { findDeletionKey } from '../../store/gdpr/deletion-keys.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';

const instant = z.iso.datetime().nullable();

/** An exporter as lists show it (reference: Data exporter). */
export const ListedExporter = z.object({
  identifier: z.string(),
  name: z.string(),
  type: z.enum(EXPORTER_TYPES),
  active: z.boolean(),
  apps: z.array(z.object({ name: z.string(), identifier: z.string(), package_name: z.string(), platform: z.enum(APP_TYPES) })),
  subfolder: z.string(),
  bucket_name: z.string(),
  exported_data: z.array(z.string()),
  initial_run_at: instant.describe('When the first good run began'),
  last_run_at: instant.describe('When the last good run began'),
});

/** What a run exported of one type of data (reference: Data exporter). */
export const ExportRecord = z.object({
  identifier: z.string(),
  date: z.iso.datetime().describe('The end of the window that was exported'),
  type: z.string(),
  total_files: z.int(),
  total_exported: z.int(),
});

/** An exporter as it is shown but for its secrets. */
export const ExporterRecord = ListedExporter.extend({
  aws_region: z.string(),
  exports: z.record(z.string(), z.array(ExportRecord))
    .describe('What was exported in the last 31 days, by the end of its window in seconds since the epoch'),
  sors: z.array(z.object({ name: z.string(), identifier: z.string(), type: z.enum(['app', 'custom', 'global']) })),
  encryption_type: z.string().describe('Empty: files are not encrypted'),
  aws_account_id: z.string().nullable(),
  aws_role_name: z.string().nullable(),
  endpoint: z.string().nullable(),
  format: z.enum(EXPORT_FORMATS),
  include_headers: z.boolean(),
  part_bytes: z.int().describe('Of a file before compression'),
  export_since: instant.describe('Where the first export begins; null: with all there is'),
  exported_until: instant.describe('Where the next export begins'),
  notify_emails: z.array(z.string()),
  failures: z.int().describe('Runs that failed since the last that didn\'t'),
  paused_at: instant.describe('When failures ended its daily runs; activating it ends that'),
  paused_reason: z.string().nullable(),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const secret = z.string().nullable().describe('Null where there is none');

/** The whole of it: whoever is shown this is written down in the audit log. */
export const RevealedExporter = ExporterRecord.extend({
  aws_access_key_id: secret, aws_secret_access_key: secret, encryption_key: secret,
  deletion_key: z.string().nullable()
    .describe('Lists of erased people in the bucket name them under it (HMAC-SHA-256): 32 bytes in hexadecimal'),
});

/** The caller's exporter, found or, with `lockExporter`, held. */
export async function knownExporter(db: Queryable, entityId: number, identifier: string, find = findExporter): Promise<DataExporter> {
  return await find(db, entityId, identifier) ?? refuse(404, 'not_found', 'Automated data exporter not found');
}

/** Exporters of one entity, with the apps that they name. */
export async function listedExporters(
  db: Queryable, entityId: number, exporters: DataExporter[],
): Promise<z.input<typeof ListedExporter>[]> {
  const apps = await listAppsById(db, entityId, [...new Set(exporters.flatMap(({ appIds }) => appIds))]);
  return exporters.map((exporter) => showListed(exporter, apps));
}

export async function showExporter(db: Queryable, exporter: DataExporter): Promise<z.input<typeof ExporterRecord>> {
  const { entityId } = exporter;
  const apps = await listAppsById(db, entityId, exporter.appIds);
  const sors = await listSorNames(db, entityId, exporter.sorIds);
  const exports = await listRecentExports(db, entityId, exporter.id);
  return {
    ...showListed(exporter, apps), ...showSettings(exporter), ...showState(exporter),
    exports: showExports(exports), sors: inOrder(exporter.sorIds, sors).map(showSor),
  };
}

/** The same with its secrets; a deletion key that it lacks is drawn. */
export async function revealExporter(
  tx: Queryable, secrets: Secrets, exporter: DataExporter, { accessKeyId, secretAccessKey, encryptionKey }: ExporterSecrets,
): Promise<z.input<typeof RevealedExporter>> {
  return {
    ...await showExporter(tx, exporter),
    aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey, encryption_key: encryptionKey,
    deletion_key: await findDeletionKey(tx, secrets, exporter),
  };
}

function showListed(exporter: DataExporter, apps: Map<number, App>): z.input<typeof ListedExporter> {
  const { identifier, name, type, active, subfolder, bucketName, exportedData, initialRunAt, lastRunAt } = exporter;
  return {
    identifier, name, type, active, apps: inOrder(exporter.appIds, apps).map(showApp), subfolder, bucket_name: bucketName,
    exported_data: exportedData, initial_run_at: initialRunAt && wholeSeconds(initialRunAt),
    last_run_at: lastRunAt && wholeSeconds(lastRunAt),
  };
}

function showSettings(exporter: DataExporter) {
  return {
    aws_region: exporter.region, encryption_type: exporter.encryptionType ?? '', aws_account_id: exporter.accountId,
    aws_role_name: exporter.roleName, endpoint: exporter.endpoint, format: exporter.format, include_headers: exporter.includeHeaders,
    part_bytes: exporter.partBytes, export_since: exporter.exportsSince && wholeSeconds(exporter.exportsSince),
    notify_emails: exporter.notifyEmails,
  };
}

function showState({ exportedUntil, failures, paused, createdBy, createdAt, updatedAt }: DataExporter) {
  return {
    exported_until: exportedUntil && wholeSeconds(exportedUntil), failures, paused_at: paused && wholeSeconds(paused.at),
    paused_reason: paused?.reason ?? null, created_by: createdBy, created_at: wholeSeconds(createdAt), updated_at: wholeSeconds(updatedAt),
  };
}

function showApp({ name, identifier, packageName, appType }: App) {
  return { name, identifier, package_name: packageName, platform: appType };
}

function showSor({ name, identifier, type }: { name: string; identifier: string; type: SorType }) {
  return { name, identifier, type };
}

function showExports(exports: RecentExport[]): Record<string, z.input<typeof ExportRecord>[]> {
  const shown: Record<string, z.input<typeof ExportRecord>[]> = {};
  for (const { identifier, windowEnd, dataType, files, rows } of exports) {
    (shown[Math.floor(windowEnd.getTime() / 1000)] ??= []).push({
      identifier, date: wholeSeconds(windowEnd), type: dataType, total_files: files, total_exported: rows,
    });
  }
  return shown;
}

/** What is left of them: a System of Records may have been deleted. */
function inOrder<T>(ids: number[], found: Map<number, T>): T[] {
  return ids.flatMap((id) => found.get(id) ?? []);
}
