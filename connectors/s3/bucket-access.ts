import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import type { ExportRole } from './role-credentials.ts';

/** A customer's bucket; `endpoint`: of an S3 that is not Amazon's, in whose paths the bucket then stands. */
export type BucketAccess = {
  bucket: string;
  region: string;
  endpoint: string | null;
  credentials: { accessKeyId: string; secretAccessKey: string } | ExportRole;
  /** The encryption that uploads ask the bucket for; null: none. */
  encryption?: ServerSideEncryption | null;
  /** Whether requests with a body carry its Content-MD5. */
  contentMd5?: boolean;
};
