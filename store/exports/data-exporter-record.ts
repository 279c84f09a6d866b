import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import type { ExportFormat } from '../../domain/exports/export-data-type.ts';
import type { EXPORTER_TYPES } from '../../domain/exports/exporter.ts';
import type { Row } from '../core/camel-row.ts';

/** An exporter as a caller defines it, without its secrets. */
export type NewExporter = {
  name: string;
  type: (typeof EXPORTER_TYPES)[number];
  bucketName: string;
  /** Without slashes at its ends; empty: the bucket itself. */
  subfolder: string;
  region: string;
  /** Address of a store that is not Amazon's S3. */
  endpoint: string | null;
  /** Both null where the bucket is reached by an access key. */
  accountId: string | null;
  roleName: string | null;
  appIds: number[];
  /** Systems of Records of the exported attributes, also deleted ones. */
  sorIds: number[];
  /** As they were given: `exportDataType` reads them. */
  exportedData: string[];
  format: ExportFormat;
  includeHeaders: boolean;
  /** The encryption that uploads ask the bucket for; null: none. */
  serverSideEncryption: ServerSideEncryption['algorithm'] | null;
  /** For aws:kms; null: the account's own key for S3. */
  kmsKeyId: string | null;
  /** True: requests with a body carry its Content-MD5. */
  contentMd5: boolean;
  /** As it was given; null: files are not encrypted. */
  encryptionType: string | null;
  /** Size of a file before compression: it ends with the piece that reaches this. */
  partBytes: number;
  /** Start of the first window; null: with the first row there is. */
  exportsSince: Date | null;
  /** Recipients of mails about failures; none: the user who made it. */
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

export type DataExporter = NewExporter &
  Row<
    'data_exporters',
    'entityId' | 'id' | 'identifier' | 'active' | 'revision' | 'scheduledUntil' | 'createdAt' | 'updatedAt',
    {
      /** Runs that failed since the last that didn't. */
      failures: number;
      /** The end of the last good window, at which the next one begins; null until there was one. */
      exportedUntil: Date | null;
      /** When the first and the last good run began. */
      initialRunAt: Date | null;
      lastRunAt: Date | null;
    }
  > & { paused: { at: Date; reason: string } | null; createdBy: { id: number; uid: string } | null };
