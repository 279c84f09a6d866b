/** A customer's bucket as exports use it. */
import { Refusal } from '../../domain/core/refusal.ts';
import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { systemLookup } from '../core/address-guard.ts';
import type { ConnectorContext } from '../core/contract.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';
import { type PoolLimits, requestPool } from '../core/guarded-request.ts';
import { redacted } from '../core/redacted.ts';
import { refusalOfAnswer, refusalOfFailure, sourceRefusal } from '../core/source-refusal.ts';
import { BucketObjects, type ListedObject, type StoredObject } from './bucket-objects.ts';
import { type Credentials, type CredentialSource, type ExportRole, roleCredentials } from './role-credentials.ts';
import { s3Address, s3Client } from './s3-client.ts';
import {
  type Ask,
  isPassingStatus,
  PASSING_CODES,
  type RetryLimits,
  S3_RIGHTS,
  type S3Error,
  s3Error,
  s3Requests,
  type S3Right,
} from './s3-requests.ts';

/** A customer's bucket. `endpoint`: of another S3 than Amazon's; the bucket is then part of its paths. */
export type BucketAccess = {
  bucket: string;
  region: string;
  endpoint: string | null;
  credentials: { accessKeyId: string; secretAccessKey: string } | ExportRole;
  /** The encryption requested for uploads; null: none. */
  encryption?: ServerSideEncryption | null;
  contentMd5?: boolean;
};

/**
 * Operations of exports on a bucket. Temporary failures are retried for about a minute. All refuse in the provider's
 * own words: with `source_refused`, `address_refused` and `too_large` if a retry would fail again, else with
 * `source_unavailable` (and `retry_after` in seconds if given) or `transfer_broken`. `source_code` is the provider's
 * code, and `missing_right` the missing right. A `folder` means everything below it: `a` and `a/` are the same and do
 * not include `ab`; an empty one is the whole bucket.
 */
export type ExportBucket = {
  /** Uses at most 32 MiB of memory, for files of up to 156 GiB. `maxBytes`: maximum size, by default 64 GiB. */
  upload(key: string, bytes: AsyncIterable<Uint8Array>, maxBytes?: number): Promise<StoredObject>;
  /** `encryption` replaces that of the access. */
  put(key: string, body: Buffer, contentType: string, encryption?: ServerSideEncryption): Promise<StoredObject>;
  /** Returns null for a missing object. Refuses one over 64 MiB with too_large. */
  readAll(key: string): Promise<Buffer | null>;
  /** Refuses a missing object with `source_code` NoSuchKey. */
  read(key: string): AsyncIterable<Uint8Array>;
  head(key: string): Promise<StoredObject | null>;
  list(folder: string): AsyncGenerator<ListedObject, void, undefined>;
  /** Ignores missing objects. */
  delete(keys: string[]): Promise<void>;
  /** Returns the keys of unfinished uploads. */
  listUnfinished(folder: string): Promise<string[]>;
  /** Removes the parts of unfinished uploads, and returns the number of uploads. */
  abortUnfinished(folder: string): Promise<number>;
  /** Begins an upload without parts; the result aborts it. */
  beginUnfinished(key: string): Promise<() => Promise<void>>;
  /** Ends running requests. */
  close(): void;
};

/** Time limits of requests to a bucket, and of retries. */
export type Patience = Omit<PoolLimits, 'leastRate'> & RetryLimits;

/** A connection without progress for a minute is stalled; combining a file of many parts may take two. */
export const PATIENCE: Patience = { connectMs: 10_000, idleMs: 60_000, answerMs: 120_000, retryMs: 60_000 };

const FILE_BYTES = 64 * 1024 ** 3;
const EVERYWHERE: FetchAllow = { allows: () => true };

type ExportContext = Pick<ConnectorContext, 'allow' | 'fetch' | 'signal'>;

/**
 * Opens a bucket without a connection yet. The address guard covers only `endpoint`: Amazon's hosts may have private
 * addresses.
 */
export function openExportBucket(access: BucketAccess, context: ExportContext, patience = PATIENCE): ExportBucket {
  const { ask, close } = exportRequests(access, context, patience);
  const objects = new BucketObjects(access.bucket, ask, access.encryption);
  const uploadsBelow = async (folder: string) => {
    const found = await Array.fromAsync(objects.listUploads(below(folder)));
    if (found.length > 0 || access.endpoint === null) return found;
    // MinIO takes a prefix for a whole key, and lists all uploads without one.
    const all = await Array.fromAsync(objects.listUploads(''));
    return all.filter(({ key }) => key.startsWith(below(folder)));
  };
  return {
    upload: (key, bytes, maxBytes = FILE_BYTES) => objects.upload(key, bytes, maxBytes),
    async put(key, body, contentType, encryption) {
      return { bytes: body.length, checksum: await objects.put(key, body, contentType, encryption) };
    },
    readAll: (key) => objects.readAll(key),
    async *read(key) {
      yield* (await objects.open(key)).chunks;
    },
    head: (key) => objects.head(key),
    list: (folder) => objects.list(below(folder)),
    delete: (keys) => objects.delete(keys),
    async listUnfinished(folder) {
      return (await uploadsBelow(folder)).map(({ key }) => key);
    },
    async abortUnfinished(folder) {
      const uploads = await uploadsBelow(folder);
      for (const { key, uploadId } of uploads) await objects.abort(key, uploadId);
      return uploads.length;
    },
    async beginUnfinished(key) {
      const uploadId = await objects.begin(key);
      return () => objects.abort(key, uploadId);
    },
    close,
  };
}

function below(folder: string): string {
  return folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
}

/** Reads neither the environment nor the machine's host, except to assume a role. */
function exportRequests(access: BucketAccess, { allow, fetch, signal }: ExportContext, patience: Patience) {
  const { bucket, region, endpoint, credentials, contentMd5 = false } = access;
  const isRole = 'roleName' in credentials;
  const source = isRole ? roleCredentials(credentials, region, signal) : keyCredentials(credentials);
  const limits = { ...patience, leastRate: fetch.limits.leastRate };
  const pool = requestPool({ allow: endpoint === null ? EVERYWHERE : allow, lookup: systemLookup, limits });
  const client = s3Client({
    region,
    endpoint,
    contentMd5,
    // Expired, so that the SDK asks each time, and renewed credentials count at once.
    credentials: async () => ({ ...(await source.get()), expiration: new Date(0) }),
    send: pool.request,
  });
  const asked = {
    host: new URL(s3Address(access)).host,
    bucket,
    region,
    isRole,
    secrets: isRole ? {} : { secret: credentials.secretAccessKey },
    isEncryptionAsked: Boolean(access.encryption),
    isMd5Sent: contentMd5,
  };
  const ask: Ask = s3Requests(client, {
    signal,
    retry: patience,
    credentials: isRole ? source : null,
    errorOf: (error, right) => refusalOfBucket({ ...asked, right }, error),
  });
  const close = () => {
    client.destroy();
    source.close();
    void pool.close();
  };
  return { ask, close };
}

/** The subject of a request, for the words of its refusal. */
type BucketRequest = {
  host: string;
  bucket: string;
  region: string;
  right: S3Right;
  isRole: boolean;
  /** True if uploads name an encryption; and if requests have Content-MD5. */
  isEncryptionAsked: boolean;
  isMd5Sent: boolean;
  /** Values that are removed from the provider's words. */
  secrets: object;
};

type Advice = string | ((asked: BucketRequest, error: S3Error) => string);

const WRONG_REGION: Advice = ({ region }, { headers }) => {
  const actual = headers['x-amz-bucket-region'];
  return `check aws_region: the bucket is not in ${region}${actual === undefined ? '' : ` but in ${actual}`}`;
};
const UNKNOWN_KEY: Advice = ({ isRole }) =>
  isRole
    ? 'it does not know the credentials of the role: they may not have spread yet'
    : 'it does not know this aws_access_key_id: check whether it was deleted or deactivated';

/** By S3's error codes (Amazon S3 API reference: Error responses). */
const ADVICE: Record<string, Advice> = {
  InvalidAccessKeyId: UNKNOWN_KEY,
  XAdminUserNotFound: UNKNOWN_KEY, // versitygw's
  SignatureDoesNotMatch: 'check aws_secret_access_key: it does not fit aws_access_key_id',
  AccessDenied: (asked, error) => {
    const lacks = `the ${asked.isRole ? 'role' : 'key'} lacks ${missingRight(asked, error)}: see the policy of the exporter`;
    return asked.right === S3_RIGHTS.put && !asked.isEncryptionAsked
      ? `${lacks}, or the bucket denies uploads that name no encryption: a check of the exporter finds out`
      : lacks;
  },
  AllAccessDisabled: 'Amazon has locked the bucket: ask its owner',
  AccountProblem: 'Amazon has locked the account: ask its owner',
  NoSuchBucket: ({ bucket }) => `check bucket_name: there is no bucket ${bucket}`,
  PermanentRedirect: WRONG_REGION,
  AuthorizationHeaderMalformed: WRONG_REGION,
  IllegalLocationConstraintException: WRONG_REGION,
  RequestTimeTooSkewed: 'its clock and the one here are over 15 minutes apart: set them right',
  ExpiredToken: 'the credentials have expired',
  InvalidToken: 'the credentials are not valid: give them anew',
  QuotaExceeded: 'the storage is full: make room or raise the quota',
  XMinioStorageFull: 'the storage is full: make room',
  InvalidStorageClass: 'the bucket does not take files of the standard class',
};

const LONGEST_MESSAGE = 500;

/** Returns the refusal for a failed request to a customer's bucket, with the provider's own code and words. */
function refusalOfBucket(asked: BucketRequest, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const answer = s3Error(error);
  if (answer.status === undefined) return refusalOfFailure(asked.host, error);
  const code = codeOf(answer);
  const said = wordsOf(asked, answer, code);
  const extra = { source_status: answer.status, ...(code === undefined ? {} : { source_code: code }) };
  if (isPassing(asked, answer.status, code)) {
    const { message, extra: more } = refusalOfAnswer(
      asked.host,
      Math.max(answer.status, 500),
      answer.headers['retry-after'],
    );
    const when = message.slice(message.indexOf(': ') + 2);
    return sourceRefusal('source_unavailable', `${said}: ${when}`, { ...more, ...extra });
  }
  if (wantsMd5(asked, answer, code)) {
    const advice = 'the bucket wants Content-MD5 with each request that deletes: set content_md5 to true';
    return sourceRefusal('source_refused', `${said}: ${advice}`, { ...extra, setting: 'content_md5' });
  }
  const missing = code === 'AccessDenied' ? { missing_right: missingRight(asked, answer) } : {};
  return sourceRefusal('source_refused', `${said}: ${adviceFor(asked, answer, code)}`, { ...extra, ...missing });
}

/** Returns whether the bucket requires Content-MD5: Amazon answers InvalidRequest and names the header. */
function wantsMd5({ isMd5Sent }: BucketRequest, { message }: S3Error, code: string | undefined): boolean {
  return !isMd5Sent && (code === 'MissingContentMD5' || (code === 'InvalidRequest' && /content-md5/i.test(message)));
}

/** Names of errors that the SDK invents. */
const MADE_UP = /^(?:Unknown|UnknownError|Error|SyntaxError|NotFound)$/;

/** Returns S3's code; for an answer without a body, such as to HEAD, the SDK invents a name. */
function codeOf({ code, status }: S3Error): string | undefined {
  if (status === 403 && (code === 'Forbidden' || code === '403' || code === 'UnknownError' || code === 'Unknown'))
    return 'AccessDenied';
  if (status === 301 && code !== 'PermanentRedirect') return 'PermanentRedirect';
  return code !== undefined && /^[A-Z][A-Za-z\d]{2,63}$/.test(code) && !MADE_UP.test(code) ? code : undefined;
}

function isPassing({ isRole }: BucketRequest, status: number, code: string | undefined): boolean {
  return (
    isPassingStatus(status) || (code !== undefined && PASSING_CODES.has(code)) || (code === 'ExpiredToken' && isRole)
  );
}

function wordsOf(
  { host, bucket, secrets }: BucketRequest,
  { status, message }: S3Error,
  code: string | undefined,
): string {
  if (status! < 300) return `${host} answered in something that is not S3`;
  const answered = `${host} answered ${status}${code === undefined ? '' : ` ${code}`} for the bucket ${bucket}`;
  const own = shorten(redacted(message, secrets).replace(/\s+/g, ' ').trim().replace(/\.$/, ''), LONGEST_MESSAGE);
  return code === undefined || own === '' || own === code || /^Unknown(?:Error)?$/.test(own)
    ? answered
    : `${answered} ("${own}")`;
}

function adviceFor(asked: BucketRequest, error: S3Error, code: string | undefined): string {
  const advice =
    code !== undefined && Object.hasOwn(ADVICE, code) ? ADVICE[code]! : 'check endpoint, bucket_name and aws_region';
  return typeof advice === 'string' ? advice : advice(asked, error);
}

/**
 * Returns the right that the provider names, such as kms:GenerateDataKey for a bucket with its own key, or else the
 * right of the request.
 */
function missingRight({ right }: BucketRequest, { message }: S3Error): string {
  return /not authorized to perform:? ([a-z\d-]+:[A-Za-z]+)/.exec(message)?.[1] ?? right;
}

/** Returns credentials that do not expire. */
function keyCredentials(credentials: Credentials): CredentialSource {
  return {
    get: async () => credentials,
    held: () => credentials,
    renew: async () => undefined,
    close: () => undefined,
  };
}
