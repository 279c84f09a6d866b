import type { ExportRole } from './role-credentials.ts';

/** A customer's bucket; `endpoint`: of an S3 that is not Amazon's, in whose paths the bucket then stands. */
export type BucketAccess = {
  bucket: string;
  region: string;
  endpoint: string | null;
  credentials: { accessKeyId: string; secretAccessKey: string } | ExportRole;
};
