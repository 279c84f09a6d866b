import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';
import type { Files } from '../../../store/core/files.ts';
import { s3Files } from '../../../connectors/file-store/s3-files.ts';
import { openScratch, type Scratch } from '../../../store/core/scratch.ts';

/** As settings of a connector that uses S3. */
export type S3Settings = {
  endpoint: string;
  region: string;
  bucket: string;
  access_key_id: string;
  secret_access_key: string;
};

export const FILES_PREFIX = 'test/files';

/** The files of a test's store, in this process or a worker's. */
export function openTestFiles({ filesFolder, s3 }: { filesFolder: string; s3: S3Settings | null }): Files {
  return s3 ? filesInS3(s3) : folderFiles(filesFolder);
}

export function filesInS3({ endpoint, region, bucket, ...keys }: S3Settings): Files {
  const credentials = { accessKeyId: keys.access_key_id, secretAccessKey: keys.secret_access_key };
  return s3Files({ bucket, prefix: FILES_PREFIX }, { endpoint, region, forcePathStyle: true, credentials });
}

/** The scratch area beside the files of a test's store, which all of its processes share. */
export function openTestScratch(filesFolder: string): Promise<Scratch> {
  return openScratch(join(filesFolder, 'scratch'), {
    process: `${process.pid}-${randomBytes(4).toString('hex')}`,
    onError: (error) => process.emitWarning(error as Error),
  });
}
