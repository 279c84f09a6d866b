/** Exporters as records: columns, and secrets apart from them. */
import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import type { ExportFormat } from '../../domain/exports/export-data-type.ts';
import type { EXPORTER_TYPES } from '../../domain/exports/exporter.ts';
import type { Row } from '../core/camel-row.ts';

/** An exporter as a caller defines it, without its secrets. */
export type NewExporter = {
  name: string;
  type: (typeof EXPORTER_TYPES)[number];
  bucketName: string;
  subfolder: string;
  region: string;
  /** Address of a store that is not Amazon's S3. */
  endpoint: string | null;
  /** Both null if the bucket is reached by an access key. */
  accountId: string | null;
  roleName: string | null;
  appIds: number[];
  sorIds: number[];
  exportedData: string[];
  format: ExportFormat;
  includeHeaders: boolean;
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
  notifyEmails: string[];
  notifyConnections: string[];
};

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
      failures: number;
      /** The end of the last good window, at which the next one begins; null until there was one. */
      exportedUntil: Date | null;
      initialRunAt: Date | null;
      lastRunAt: Date | null;
    }
  > & { paused: { at: Date; reason: string } | null; createdBy: { id: number; uid: string } | null };
