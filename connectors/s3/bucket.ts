/** A bucket as the source of a sync. */
import { Refusal } from '../../domain/core/refusal.ts';
import type { ConnectorContext } from '../core/contract.ts';
import { systemLookup } from '../core/address-guard.ts';
import { guardedRequest } from '../core/guarded-request.ts';
import { refusalOfAnswer, refusalOfFailure, sourceRefusal } from '../core/source-refusal.ts';
import type { FileBytes, OpenFile } from '../files/file-bytes.ts';
import { BucketObjects } from './bucket-objects.ts';
import { s3Address, s3Client } from './s3-client.ts';
import { isPassingStatus, s3Error, s3Requests } from './s3-requests.ts';
import type { BucketSettings } from './s3-settings.ts';

export type BucketFile = { key: string; etag: string; modifiedMs: number };

export type Bucket = {
  /** Lists files whose keys begin with `prefix`, behind the key `after`, in order, without empty ones. */
  list(prefix: string, after: string | null): AsyncGenerator<BucketFile, void, undefined>;
  open(key: string): OpenFile;
};

/** A run of a sync retries by itself. */
const NO_RETRIES = { retryMs: 0 };

/** Opens a bucket with only these settings: the SDK reads neither the environment nor the machine's host. */
export function openBucket(settings: BucketSettings, context: ConnectorContext): Bucket {
  const { allow, fetch, signal } = context;
  const { region, endpoint = null } = settings;
  const { host } = new URL(s3Address({ region, endpoint }));
  const way = { allow, lookup: systemLookup, limits: fetch.limits };
  const client = s3Client({
    region,
    endpoint,
    credentials: { accessKeyId: settings.access_key_id, secretAccessKey: settings.secret_access_key },
    send: (url, asked) => guardedRequest(url, asked, way),
  });
  const ask = s3Requests(client, { signal, retry: NO_RETRIES, errorOf: (error) => refusalOfS3(host, error) });
  const objects = new BucketObjects(settings.bucket, ask);
  const open = async (key: string, part?: Parameters<OpenFile>[0]): Promise<FileBytes> => {
    const {
      etag,
      bytes = null,
      chunks,
      end,
      from,
    } = await objects.open(key, part && { from: part.from, etag: part.version });
    const file = { from, version: etag ?? null, mark: etag ?? null, bytes, chunks, context, end: async () => end() };
    if (from === 0 || from === part?.from) return file;
    end();
    throw sourceRefusal('transfer_broken', `${host} sends another part of the file than the rest`);
  };
  return {
    open: (key) => async (part) => {
      if (part === undefined) return open(key);
      const rest = await open(key, part).catch(nullIfChanged);
      if (rest !== null && rest.version === part.version) return rest;
      await rest?.end();
      return open(key);
    },
    async *list(prefix, after) {
      for await (const { key, bytes, etag, modifiedAt } of objects.list(prefix, after ?? undefined)) {
        if (bytes > 0 && !isMark(key, prefix)) yield { key, etag, modifiedMs: modifiedAt.getTime() };
      }
    },
  };
}

/** Returns null if the version has changed (412) or is shorter than what was read (416). */
function nullIfChanged(error: unknown): null {
  if (error instanceof Refusal && [412, 416].includes(error.extra['source_status'] as number)) return null;
  throw error;
}

/**
 * Returns whether a key is a marker or a log that tools such as Spark and Hive leave: `_SUCCESS`, `_delta_log/…`,
 * `.part-0.crc`. A folder such as `_day=1/` is a partition, and a part of the prefix itself is wanted.
 */
export function isMark(key: string, prefix: string): boolean {
  const folder = prefix.lastIndexOf('/') + 1;
  const parts = key.slice(folder).split('/');
  return (
    parts.some((part, at) => /^[._][^=]*$/.test(part) && !(at === 0 && folder < prefix.length)) || key.endsWith('.crc')
  );
}

/** By S3's error codes (Amazon S3 API reference: Error responses). */
const ADVICE: Record<string, string> = {
  InvalidAccessKeyId: 'it does not know this access_key_id',
  XAdminUserNotFound: 'it does not know this access_key_id', // versitygw's
  SignatureDoesNotMatch: 'check secret_access_key: it does not fit access_key_id',
  AccessDenied: 'access_key_id lacks a right: it needs s3:GetObject and, for a prefix, s3:ListBucket',
  NoSuchBucket: 'check bucket: there is none of this name',
  NoSuchKey: 'check key: there is no such file',
  InvalidObjectState: 'the file is archived: restore it first',
  PermanentRedirect: 'check region: the bucket is in another',
  AuthorizationHeaderMalformed: 'check region: the bucket is in another',
  RequestTimeTooSkewed: 'its clock and the one here are over 15 minutes apart: set them right',
};

/** Returns the refusal for a failed request, without S3's own messages, which quote keys. */
function refusalOfS3(host: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code: name, status, headers } = s3Error(error);
  if (status === undefined) return refusalOfFailure(host, error);
  if (isPassingStatus(status)) return refusalOfAnswer(host, status, headers['retry-after']);
  const code = name !== undefined && Object.hasOwn(ADVICE, name) ? name : undefined;
  const why = code === undefined ? 'check endpoint, bucket and key' : ADVICE[code]!;
  const answered = status < 300 ? 'in something that is not S3' : `${status}${code === undefined ? '' : ` ${code}`}`;
  return sourceRefusal('source_refused', `${host} answered ${answered}: ${why}`, {
    source_status: status,
    ...(code === undefined ? {} : { source_code: code }),
  });
}
