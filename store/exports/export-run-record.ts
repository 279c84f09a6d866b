/** Export runs as records. */
import type { ExportDays, ExportWindow } from '../../domain/exports/export-window.ts';
import type { ExportAlert } from '../../domain/exports/exporter.ts';
import { type FailureColumns, failureOf, type MailColumns, mailOf, type Row } from '../core/camel-row.ts';
import type { MailState } from '../core/mails.ts';
import type { Run } from '../jobs/runs.ts';
import type { DataExporter } from './data-exporter-record.ts';

export const EXPORTED_MEMBERS = [
  'name',
  'type',
  'bucketName',
  'subfolder',
  'region',
  'endpoint',
  'accountId',
  'roleName',
  'appIds',
  'sorIds',
  'exportedData',
  'format',
  'includeHeaders',
  'encryptionType',
  'partBytes',
] as const satisfies (keyof DataExporter)[];

/** The exporter's definition at the first claim of the run; secrets are the exporter's. */
export type ExportDefinition = Pick<DataExporter, (typeof EXPORTED_MEMBERS)[number]> & {
  folder: string;
  /** Keyed hash of the files' encryption key (`Secrets.lookup`), from the first attempt on. */
  keyHash?: string;
};

export type ExportRun = Run &
  Row<
    'export_runs',
    'exporterId' | 'cause' | 'covers' | 'rerunOf' | 'isCovered' | 'attempt' | 'manifestKey' | 'publishedAt'
  > & {
    definition: ExportDefinition | null;
    alert: ExportAlert | null;
    window: ExportWindow;
    days: ExportDays | null;
    manifestSha256: string | null;
  };

/** `start` is null if the cursor gives it at the claim. */
export type NewExportRun = Pick<ExportRun, 'exporterId' | 'cause'> &
  Partial<Pick<ExportRun, 'scheduledFor' | 'covers' | 'rerunOf' | 'days'>> & {
    window: { start: Date | '-infinity' | null; end: Date };
    requestedBy?: number | null;
  };

/** Columns of export_runs. Minus infinity comes as a number. */
export type ExportRunColumns = Omit<ExportRun, 'window' | 'days' | 'manifestSha256' | 'failure' | 'mail'> &
  FailureColumns &
  MailColumns<MailState> &
  Row<'export_runs', 'windowEnd' | 'days' | 'manifestSha256'> & { windowStart: Date | number | null };

export function toExportRun(run: ExportRunColumns): ExportRun {
  const { windowStart, windowEnd: end, days, manifestSha256 } = run;
  const [from, to] = days?.split('_') ?? [];
  const start = windowStart instanceof Date ? windowStart : null;
  return {
    ...run,
    window: { kind: days === null ? 'received' : 'happened', start, end },
    days: days === null ? null : { from: from!, to: to! },
    manifestSha256: manifestSha256?.toString('hex') ?? null,
    failure: failureOf(run),
    mail: mailOf(run),
  };
}
