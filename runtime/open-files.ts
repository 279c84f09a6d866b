/** Opens the file store, and says what is wrong with it. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { s3Error } from '../connectors/s3/s3-requests.ts';
import { FileStoreAway } from '../domain/core/internal-error.ts';
import { SERVER_SIDE_ENCRYPTIONS, type ServerSideEncryption } from '../domain/core/server-side-encryption.ts';
import { folderFiles } from '../connectors/file-store/folder-files.ts';
import { asBytes, type Files } from '../store/core/files.ts';
import { s3Files } from '../connectors/file-store/s3-files.ts';
import { CannotStart } from './cannot-start.ts';
import type { Config } from './config.ts';

/** Opens MILLRACE_FILES. Tries a bucket, so that faults are reported at the start. */
export async function openFiles(config: Config, log?: Logger): Promise<Files> {
  const place = config.MILLRACE_FILES ?? join(config.MILLRACE_DATA_DIR, 'files');
  if (!place.startsWith('s3://')) {
    const files = folderFiles(place, {
      onRenamed: (file) => log?.warn({ file }, 'a file in the file store has a name that is no key: it was renamed'),
    });
    await files.deleteUnfinished(new Date());
    return files;
  }
  const [bucket = '', ...keys] = place.slice('s3://'.length).split('/');
  // A self-hosted store rarely has a host name for each bucket.
  const forcePathStyle = (config.AWS_ENDPOINT_URL_S3 ?? config.AWS_ENDPOINT_URL) !== undefined;
  const { MILLRACE_FILES_ENCRYPTION: algorithm, MILLRACE_FILES_KMS_KEY: kmsKeyId = null } = config;
  const openWith = (encryption: ServerSideEncryption | null) =>
    s3Files({ bucket, prefix: keys.join('/'), encryption }, { forcePathStyle });
  const files = openWith(algorithm === undefined ? null : { algorithm, kmsKeyId });
  await tryFiles(files).catch(async (error: unknown) => {
    const advice = (await adviceOnEncryption(error, openWith)) ?? adviceOn(error);
    throw new CannotStart(`MILLRACE_FILES: ${place} can't be used: ${advice}`);
  });
  return files;
}

/** Checks for a required encryption: such a policy answers like a missing right. */
async function adviceOnEncryption(
  error: unknown,
  openWith: (encryption: ServerSideEncryption) => Files,
): Promise<string | null> {
  if (s3Error(error).code !== 'AccessDenied') return null;
  for (const algorithm of SERVER_SIDE_ENCRYPTIONS) {
    const isUsable = await tryFiles(openWith({ algorithm, kmsKeyId: null })).then(
      () => true,
      () => false,
    );
    if (!isUsable) continue;
    return (
      `the bucket denies uploads without the header x-amz-server-side-encryption: ${algorithm}: ` +
      `set MILLRACE_FILES_ENCRYPTION=${algorithm}`
    );
  }
  return null;
}

/** Tries every use, on a file that is deleted again. */
async function tryFiles(files: Files): Promise<void> {
  const key = `probes/${randomUUID()}`;
  await Array.fromAsync(files.list(key));
  await files.put(key, asBytes(key));
  const isThere = (await files.readAll(key))?.toString() === key;
  await files.delete(key);
  if (!isThere) throw new Error('what is written there is not what is read');
  await files.deleteUnfinished(new Date());
}

/** Advice by error codes of S3 (Amazon S3 API reference: Error responses) and the SDK. */
const ADVICE: Record<string, string> = {
  InvalidAccessKeyId: 'it does not know this access key: check AWS_ACCESS_KEY_ID',
  XAdminUserNotFound: 'it does not know this access key: check AWS_ACCESS_KEY_ID', // versitygw's
  SignatureDoesNotMatch: 'the secret does not fit the access key: check AWS_SECRET_ACCESS_KEY',
  InvalidToken: 'it does not take this session token: check AWS_SESSION_TOKEN',
  ExpiredToken: 'the credentials have expired: renew them',
  AccessDenied:
    'a right is missing: s3:ListBucket, s3:ListBucketMultipartUploads of the bucket; ' +
    's3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload of its objects',
  NoSuchBucket: 'there is no bucket of this name: make it, or check MILLRACE_FILES',
  PermanentRedirect: 'the bucket is in another region: set AWS_REGION',
  AuthorizationHeaderMalformed: 'the bucket is in another region: set AWS_REGION',
  RequestTimeTooSkewed: 'its clock and the one here are over 15 minutes apart: set them right',
  CredentialsProviderError:
    'there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role',
};

/** Returns advice. S3's own messages may quote keys, and are left out. */
function adviceOn(error: unknown): string {
  const { code: name = '', message, status } = s3Error(error instanceof FileStoreAway ? error.cause : error);
  const answered = status === undefined ? '' : `it answered ${status} ${name}: `;
  if (ADVICE[name]) return answered + ADVICE[name];
  if (message === 'Region is missing') return 'there is no region: set AWS_REGION';
  if (status !== undefined) return `${answered}check MILLRACE_FILES, AWS_REGION and AWS_ENDPOINT_URL_S3`;
  return `no answer (${(error as NodeJS.ErrnoException).code ?? name}): check AWS_ENDPOINT_URL_S3`;
}
