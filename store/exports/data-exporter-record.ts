import type { ExportFormat } from '../../domain/exports/export-data-type.ts';
import type { EXPORTER_TYPES } from '../../domain/exports/exporter.ts';
import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';

/** What a caller says of an exporter; its secrets stand apart. */
export type NewExporter = {
  name: string;
  type: (typeof EXPORTER_TYPES)[number];
  bucketName: string;
  /** Without slashes at its ends; empty: the bucket itself. */
  subfolder: string;
  region: string;
  /** Of an S3 that is not Amazon's. */
  endpoint: string | null;
  /** Both null where the bucket is reached by an access key. */
  accountId: string | null;
  roleName: string | null;
  appIds: number[];
  /** Of the attributes that are exported; deleted ones among them. */
  sorIds: number[];
  /** As they were given: `exportDataType` reads them. */
  exportedData: string[];
  format: ExportFormat;
  includeHeaders: boolean;
  /** The encryption that uploads ask the bucket for; null: none. */
  serverSideEncryption: ServerSideEncryption['algorithm'] | null;
  /** For aws:kms; null: the account's own key for S3. */
  kmsKeyId: string | null;
  /** Whether requests with a body carry its Content-MD5. */
  contentMd5: boolean;
  /** As it was given; null: files are not encrypted. */
  encryptionType: string | null;
  /** Of a file before compression: it ends with the piece that reaches this. */
  partBytes: number;
  /** Where the first window begins; null: with the first row there is. */
  exportsSince: Date | null;
  /** Who is told of failures; none: whoever made it. */
  notifyEmails: string[];
  /** The identifiers of the connections that get the alerts. */
  notifyConnections: string[];
};

/** Null where an exporter has none. */
export type ExporterSecrets = {
  accessKeyId: string | null;
  secretAccessKey: string | null;
  encryptionKey: string | null;
};

export type DataExporter = NewExporter & {
  entityId: number;
  id: number;
  identifier: string;
  active: boolean;
  /** Runs that failed since the last that didn't. */
  failures: number;
  paused: { at: Date; reason: string } | null;
  /** The end of the last good window, at which the next one begins; null until there was one. */
  exportedUntil: Date | null;
  /** Raised by each change of what a caller says, and of whether it is active. */
  revision: number;
  scheduledUntil: Date | null;
  /** When the first and the last good run began. */
  initialRunAt: Date | null;
  lastRunAt: Date | null;
  createdBy: { id: number; uid: string } | null;
  createdAt: Date;
  updatedAt: Date;
};

/** A row of data_exporters, with its creator. */
export type ExporterRow = {
  entity_id: number;
  id: number;
  identifier: string;
  name: string;
  type: NewExporter['type'];
  bucket_name: string;
  subfolder: string;
  aws_region: string;
  endpoint: string | null;
  aws_account_id: string | null;
  aws_role_name: string | null;
  app_ids: number[];
  sor_ids: number[];
  exported_data: string[];
  format: ExportFormat;
  include_headers: boolean;
  server_side_encryption: NewExporter['serverSideEncryption'];
  kms_key_id: string | null;
  content_md5: boolean;
  encryption_type: string | null;
  part_bytes: number;
  exports_since: Date | null;
  notify_emails: string[];
  notify_connections: string[];
  active: boolean;
  failures: number;
  paused_at: Date | null;
  paused_reason: string | null;
  exported_until: Date | null;
  revision: number;
  scheduled_until: Date | null;
  initial_run_at: Date | null;
  last_run_at: Date | null;
  created_by: number | null;
  creator_uid: string | null;
  created_at: Date;
  updated_at: Date;
};

export function toExporter(row: ExporterRow): DataExporter {
  return {
    entityId: row.entity_id,
    id: row.id,
    identifier: row.identifier,
    name: row.name,
    type: row.type,
    bucketName: row.bucket_name,
    subfolder: row.subfolder,
    region: row.aws_region,
    endpoint: row.endpoint,
    accountId: row.aws_account_id,
    roleName: row.aws_role_name,
    appIds: row.app_ids,
    sorIds: row.sor_ids,
    exportedData: row.exported_data,
    format: row.format,
    includeHeaders: row.include_headers,
    serverSideEncryption: row.server_side_encryption,
    kmsKeyId: row.kms_key_id,
    contentMd5: row.content_md5,
    encryptionType: row.encryption_type,
    partBytes: row.part_bytes,
    exportsSince: row.exports_since,
    notifyEmails: row.notify_emails,
    notifyConnections: row.notify_connections,
    active: row.active,
    failures: row.failures,
    paused: row.paused_at && { at: row.paused_at, reason: row.paused_reason! },
    exportedUntil: row.exported_until,
    revision: row.revision,
    scheduledUntil: row.scheduled_until,
    initialRunAt: row.initial_run_at,
    lastRunAt: row.last_run_at,
    createdBy: row.created_by === null ? null : { id: row.created_by, uid: row.creator_uid! },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
