import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import { systemLookup } from '../core/address-guard.ts';
import type { ConnectorContext } from '../core/contract.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';
import { type PoolLimits, requestPool } from '../core/request-pool.ts';
import { BucketObjects, type ListedObject, type StoredObject } from './bucket-objects.ts';
import { refusalOfBucket } from './export-refusal.ts';
import { type ExportRole, keyCredentials, roleCredentials } from './role-credentials.ts';
import { s3Address, s3Client } from './s3-client.ts';
import { type Ask, type RetryLimits, s3Requests } from './s3-requests.ts';

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

/**
 * What exports do with a bucket. What it refuses for a while is tried again for about a minute. All refuse in the
 * provider's own words: with `source_refused`, `address_refused` and `too_large` where the same would fail again, else
 * with
 * `source_unavailable` (and `retry_after` in seconds where it was told) or `transfer_broken`. Of a refused request
 * `source_code` is the provider's code, and `missing_right` the right it lacks. A `folder` is what lies below it: `a`
 * and `a/` are the same, and without `ab`; an empty one is the whole bucket.
 */
export type ExportBucket = {
  /** Holds at most 32 MiB, for files of up to 156 GiB. `maxBytes`: what there may be at most; unless told, 64 GiB. */
  upload(key: string, bytes: AsyncIterable<Uint8Array>, maxBytes?: number): Promise<StoredObject>;
  /** `encryption`: instead of that of the access. */
  put(key: string, body: Buffer, contentType: string, encryption?: ServerSideEncryption): Promise<StoredObject>;
  /** Null: there is none. Refuses with too_large what has over 64 MiB. */
  readAll(key: string): Promise<Buffer | null>;
  /** Refuses with `source_code` NoSuchKey where there is none. */
  read(key: string): AsyncIterable<Uint8Array>;
  head(key: string): Promise<StoredObject | null>;
  /** In the order of their keys. */
  list(folder: string): AsyncGenerator<ListedObject, void, undefined>;
  /** Also those that are not there. */
  delete(keys: string[]): Promise<void>;
  /** The keys of uploads that have not ended. */
  listUnfinished(folder: string): Promise<string[]>;
  /** Removes the parts of uploads that never ended; how many uploads there were. */
  abortUnfinished(folder: string): Promise<number>;
  /** Begins an upload that has no parts, to be given up by what it returns. */
  beginUnfinished(key: string): Promise<() => Promise<void>>;
  /** Ends what is under way. */
  close(): void;
};

/** How long a bucket may take, and be troubled. */
export type Patience = Omit<PoolLimits, 'leastRate'> & RetryLimits;

/** A connection that moves nothing for a minute stalls; to put a file of many parts together may take two. */
export const PATIENCE: Patience = { connectMs: 10_000, idleMs: 60_000, answerMs: 120_000, retryMs: 60_000 };

const FILE_BYTES = 64 * 1024 ** 3;
const EVERYWHERE: FetchAllow = { allows: () => true };

type ExportContext = Pick<ConnectorContext, 'allow' | 'fetch' | 'signal'>;

/** Opens no connection yet. The address guard holds for `endpoint` only: Amazon's hosts may have private addresses. */
export function openExportBucket(access: BucketAccess, context: ExportContext, patience = PATIENCE): ExportBucket {
  const { ask, close } = exportRequests(access, context, patience);
  const objects = new BucketObjects(access.bucket, ask, access.encryption);
  const uploadsBelow = async (folder: string) => {
    const found = await Array.fromAsync(objects.listUploads(below(folder)));
    if (found.length > 0 || access.endpoint === null) return found;
    // MinIO takes a prefix for a whole key, and tells all uploads without one.
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

/** Asks neither the environment nor the machine's host, but for assuming a role. */
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
    // As ended, so that the SDK asks each time, and credentials that were renewed count at once.
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
