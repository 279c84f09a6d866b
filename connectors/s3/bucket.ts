import { GetObjectCommand, ListObjectsV2Command, type ListObjectsV2CommandOutput, S3Client } from '@aws-sdk/client-s3';
import { Refusal } from '../../domain/core/refusal.ts';
import type { ConnectorContext } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { FileBytes, OpenFile } from '../files/file-bytes.ts';
import { amazonS3 } from './amazon-s3.ts';
import { guardedHandler } from './guarded-handler.ts';
import { refusalOfS3 } from './s3-refusal.ts';
import type { BucketSettings } from './s3-settings.ts';

export type BucketFile = { key: string; etag: string; modifiedMs: number };

export type Bucket = {
  /**
   * The files whose keys begin with `prefix`, behind the key `after`, in the order of their keys; empty ones are left
   * out.
   */
  list(prefix: string, after: string | null): AsyncGenerator<BucketFile, void, undefined>;
  open(key: string): OpenFile;
};

type Part = Parameters<OpenFile>[0];

/** A bucket, reached with these settings and no others: the SDK asks neither the environment nor the machine's host. */
export function openBucket(settings: BucketSettings, context: ConnectorContext): Bucket {
  const { allow, fetch, signal } = context;
  const { bucket: Bucket } = settings;
  const endpoint = settings.endpoint ?? amazonS3(settings.region);
  const client = new S3Client({
    endpoint,
    region: settings.region,
    forcePathStyle: settings.endpoint !== undefined,
    credentials: { accessKeyId: settings.access_key_id, secretAccessKey: settings.secret_access_key },
    requestHandler: guardedHandler(allow, fetch.limits),
    maxAttempts: 1,
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const { host } = new URL(endpoint);
  const asked = async <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      signal.throwIfAborted();
      throw refusalOfS3(host, error);
    });
  const getObject = async (key: string, part: Part): Promise<FileBytes> => {
    const range = part === undefined ? {} : { Range: `bytes=${part.from}-`, IfMatch: part.version };
    const command = new GetObjectCommand({ Bucket, Key: key, ...range });
    const ending = new AbortController();
    const abortSignal = AbortSignal.any([signal, ending.signal]);
    const { Body, ETag, ContentRange, ContentLength } = await asked(client.send(command, { abortSignal }));
    const body = Body as AsyncIterable<Buffer> & { destroy(): unknown };
    // The SDK's stream reads ahead: without the signal its connection would stay for as long as the bucket sends
    // nothing.
    const end = async () => {
      body.destroy();
      ending.abort();
    };
    const from = part !== undefined && ContentRange?.startsWith(`bytes ${part.from}-`) ? part.from : 0;
    const version = ETag ?? null;
    const bytes = ContentLength ?? null;
    if (ContentRange === undefined || from > 0)
      return { from, version, mark: version, bytes, chunks: body, context, end };
    await end();
    throw sourceRefusal('transfer_broken', `${host} sends another part of the file than the rest`);
  };
  return {
    open: (key) => async (part) => {
      if (part === undefined) return getObject(key, undefined);
      const rest = await getObject(key, part).catch(nullWhereChanged);
      if (rest !== null && rest.version === part.version) return rest;
      await rest?.end();
      return getObject(key, undefined);
    },
    async *list(prefix, after) {
      for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
        const place = token === undefined ? { StartAfter: after ?? undefined } : { ContinuationToken: token };
        const page = await asked(
          client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix, ...place }), { abortSignal: signal }),
        );
        yield* filesOf(page).filter(({ key }) => !isMark(key, prefix));
        token = page.IsTruncated ? page.NextContinuationToken : undefined;
      }
    },
  };
}

/** The version is another now (412), or shorter than what was read (416). */
function nullWhereChanged(error: unknown): null {
  if (error instanceof Refusal && [412, 416].includes(error.extra['source_status'] as number)) return null;
  throw error;
}

/**
 * Whether a key is a mark or a log that tools leave beside their files, as Spark and Hive tell them: `_SUCCESS`,
 * `_delta_log/…`,
 * `.part-0.crc`. A folder such as `_day=1/` is a partition, and what the prefix itself names is wanted.
 */
export function isMark(key: string, prefix: string): boolean {
  const folder = prefix.lastIndexOf('/') + 1;
  const parts = key.slice(folder).split('/');
  return (
    parts.some((part, at) => /^[._][^=]*$/.test(part) && !(at === 0 && folder < prefix.length)) || key.endsWith('.crc')
  );
}

function filesOf({ Contents = [] }: ListObjectsV2CommandOutput): BucketFile[] {
  return Contents.flatMap(({ Key, ETag = '', LastModified, Size }) =>
    Key === undefined || Size === 0 ? [] : [{ key: Key, etag: ETag, modifiedMs: LastModified?.getTime() ?? 0 }],
  );
}
