import type { ExportDays, ExportWindow } from '../../domain/exports/export-window.ts';
import type { ExportAlert, ExportRunCause, ExportRunState } from '../../domain/exports/exporter.ts';
import type { MailState } from '../core/mails.ts';
import type { DataExporter } from './data-exporter-record.ts';

/** What a run exports, as its exporter said when it was claimed first; secrets are the exporter's. */
export type ExportDefinition = Pick<DataExporter, 'name' | 'type' | 'bucketName' | 'subfolder' | 'region' | 'endpoint' | 'accountId'
  | 'roleName' | 'appIds' | 'sorIds' | 'exportedData' | 'format' | 'includeHeaders' | 'encryptionType' | 'partBytes'> & {
    /** Of the window, in the bucket: without slashes at its ends. */
    folder: string;
    /** What tells the encryption key of its files from others (`Secrets.lookup`); from its first attempt on. */
    keyHash?: string;
  };

export type ExportRun = {
  entityId: number;
  id: number;
  identifier: string;
  exporterId: number;
  cause: ExportRunCause;
  scheduledFor: Date | null;
  /** Scheduled times that it stands for besides its own. */
  covers: Date[];
  /** The run whose window it exports again: the first, not a rerun itself. */
  rerunOf: number | null;
  window: ExportWindow;
  /** Of a backfill, and of its reruns. */
  days: ExportDays | null;
  /** Null until it is claimed. */
  definition: ExportDefinition | null;
  state: ExportRunState;
  /** An earlier run had exported all of it: nothing is written. */
  isCovered: boolean;
  generation: number;
  receivedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  /** At its files: each has a folder of its own in the bucket. */
  attempt: number;
  /** Of the bucket, since it last took something. */
  tries: number;
  fault: string | null;
  waitsUntil: Date | null;
  failure: { status: string; message: string } | null;
  manifestKey: string | null;
  /** Hexadecimal. */
  manifestSha256: string | null;
  publishedAt: Date | null;
  mail: { state: MailState; tries: number; reason: string | null } | null;
  alert: ExportAlert | null;
};

/** `start` is null where the cursor tells it at the claim. */
export type NewExportRun = Pick<ExportRun, 'exporterId' | 'cause'>
  & Partial<Pick<ExportRun, 'scheduledFor' | 'covers' | 'rerunOf' | 'days'>>
  & { window: { start: Date | '-infinity' | null; end: Date }; requestedBy?: number | null };

/** A row of export_runs. Minus infinity comes as a number. */
export type ExportRunRow = {
  entity_id: number; id: number; identifier: string; exporter_id: number; cause: ExportRunCause; scheduled_for: Date | null; covers: Date[];
  rerun_of: number | null; window_start: Date | number | null; window_end: Date; days: string | null; definition: ExportDefinition | null;
  state: ExportRunState; is_covered: boolean; generation: number; received_at: Date; started_at: Date | null; ended_at: Date | null;
  attempt: number; tries: number; fault: string | null; waits_until: Date | null; failure_status: string | null; failure: string | null;
  manifest_key: string | null; manifest_sha256: Buffer | null; published_at: Date | null;
  mail_state: MailState | null; mail_tries: number; mail_reason: string | null; alert: ExportAlert | null;
};

export function toExportRun(row: ExportRunRow): ExportRun {
  const [from, to] = row.days?.split('_') ?? [];
  return {
    entityId: row.entity_id, id: row.id, identifier: row.identifier, exporterId: row.exporter_id, cause: row.cause,
    scheduledFor: row.scheduled_for, covers: row.covers, rerunOf: row.rerun_of,
    window: {
      kind: row.days === null ? 'received' : 'happened', start: row.window_start instanceof Date ? row.window_start : null,
      end: row.window_end,
    },
    days: row.days === null ? null : { from: from!, to: to! }, definition: row.definition,
    state: row.state, isCovered: row.is_covered, generation: row.generation,
    receivedAt: row.received_at, startedAt: row.started_at, endedAt: row.ended_at,
    attempt: row.attempt, tries: row.tries, fault: row.fault, waitsUntil: row.waits_until,
    failure: row.failure === null ? null : { status: row.failure_status!, message: row.failure },
    manifestKey: row.manifest_key, manifestSha256: row.manifest_sha256?.toString('hex') ?? null, publishedAt: row.published_at,
    mail: row.mail_state && { state: row.mail_state, tries: row.mail_tries, reason: row.mail_reason }, alert: row.alert,
  };
}
