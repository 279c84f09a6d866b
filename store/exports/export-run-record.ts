import type { ExportDays, ExportWindow } from '../../domain/exports/export-window.ts';
import type { ExportAlert, ExportRunCause, ExportRunState } from '../../domain/exports/exporter.ts';
import { type FailureColumns, failureOf, type MailColumns, mailOf } from '../core/camel-row.ts';
import type { MailState } from '../core/mails.ts';
import type { DataExporter } from './data-exporter-record.ts';

/** What a run exports, as its exporter said when it was claimed first; secrets are the exporter's. */
export type ExportDefinition = Pick<
  DataExporter,
  | 'name'
  | 'type'
  | 'bucketName'
  | 'subfolder'
  | 'region'
  | 'endpoint'
  | 'accountId'
  | 'roleName'
  | 'appIds'
  | 'sorIds'
  | 'exportedData'
  | 'format'
  | 'includeHeaders'
  | 'encryptionType'
  | 'partBytes'
> & {
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
  /** Where a running one waits; null: it works. */
  stage: string | null;
  /** An earlier run had exported all of it: nothing is written. */
  isCovered: boolean;
  generation: number;
  receivedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  /** At its files: each has a folder of its own in the bucket. */
  attempt: number;
  /** Of the bucket, since it last took something; the first of them failed at `failingSince`. */
  tries: number;
  failingSince: Date | null;
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
export type NewExportRun = Pick<ExportRun, 'exporterId' | 'cause'> &
  Partial<Pick<ExportRun, 'scheduledFor' | 'covers' | 'rerunOf' | 'days'>> & {
    window: { start: Date | '-infinity' | null; end: Date };
    requestedBy?: number | null;
  };

/** Columns of export_runs. Minus infinity comes as a number. */
export type ExportRunColumns = Omit<ExportRun, 'window' | 'days' | 'manifestSha256' | 'failure' | 'mail'> &
  FailureColumns &
  MailColumns<MailState> & {
    windowStart: Date | number | null;
    windowEnd: Date;
    days: string | null;
    manifestSha256: Buffer | null;
  };

export function toExportRun(columns: ExportRunColumns): ExportRun {
  const {
    windowStart,
    windowEnd,
    days,
    manifestSha256,
    failureStatus,
    failure,
    mailState,
    mailTries,
    mailReason,
    ...run
  } = columns;
  const [from, to] = days?.split('_') ?? [];
  return {
    ...run,
    window: {
      kind: days === null ? 'received' : 'happened',
      start: windowStart instanceof Date ? windowStart : null,
      end: windowEnd,
    },
    days: days === null ? null : { from: from!, to: to! },
    manifestSha256: manifestSha256?.toString('hex') ?? null,
    failure: failureOf({ failureStatus, failure }),
    mail: mailOf({ mailState, mailTries, mailReason }),
  };
}
