import {
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import { Refusal } from '../../domain/core/refusal.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { ExportClient } from './export-client.ts';
import { EXPORT_RIGHTS } from './export-refusal.ts';

/** What lies under a key: `checksum` is its entity tag, which is another when the file is. */
export type StoredFile = { bytes: number; checksum: string | null };
export type ListedFile = { key: string; bytes: number; modifiedAt: Date };
/** A manifest of 100,000 files has less. */
const MAX_WHOLE_BYTES = 64 * 1024 ** 2;

type UnfinishedUpload = { key: string; uploadId: string };

/** What is asked of a bucket without changing it. */
export type StoredFiles = {
  read(key: string): Promise<AsyncIterable<Uint8Array>>;
  readAll(key: string): Promise<Buffer | null>;
  head(key: string): Promise<StoredFile | null>;
  list(prefix: string): AsyncGenerator<ListedFile, void, undefined>;
  listUploads(prefix: string, isCleanUp?: boolean): AsyncGenerator<UnfinishedUpload, void, undefined>;
};

export function storedFiles(Bucket: string, { ask }: ExportClient): StoredFiles {
  const get = (key: string) =>
    ask(EXPORT_RIGHTS.get, async (client, options) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: key }), options);
      return Body as AsyncIterable<Uint8Array>;
    });
  const whole = (key: string) =>
    ask(EXPORT_RIGHTS.get, async (client, options) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: key }), options);
      return gathered(Body as AsyncIterable<Uint8Array>, key);
    });
  const head = (key: string) =>
    ask(EXPORT_RIGHTS.get, async (client, options): Promise<StoredFile> => {
      const { ContentLength = 0, ETag } = await client.send(new HeadObjectCommand({ Bucket, Key: key }), options);
      return { bytes: ContentLength, checksum: entityTag(ETag) };
    });
  const page = (prefix: string, token?: string, most?: number) =>
    ask(EXPORT_RIGHTS.list, (client, options) =>
      client.send(
        new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: token, MaxKeys: most }),
        options,
      ),
    );
  /**
   * S3 says AccessDenied for a missing file where it may not be told that it is missing, and a policy for a prefix is
   * not enough.
   */
  const isMissing = async (key: string, error: unknown): Promise<boolean> => {
    if (isNotFound(error)) return true;
    if (!(error instanceof Refusal) || error.extra['source_code'] !== 'AccessDenied') return false;
    return page(key, undefined, 1).then(
      ({ Contents = [] }) => Contents[0]?.Key !== key,
      () => false,
    );
  };
  const unlessMissing = async <T>(key: string, found: Promise<T>): Promise<T | null> =>
    found.catch(async (error: unknown) => {
      if (await isMissing(key, error)) return null;
      throw error;
    });
  return {
    read: get,
    readAll: (key) => unlessMissing(key, whole(key)),
    head: (key) => unlessMissing(key, head(key)),
    async *list(prefix) {
      for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
        const { Contents = [], IsTruncated, NextContinuationToken } = await page(prefix, token);
        for (const { Key, Size = 0, LastModified = new Date(0) } of Contents) {
          if (Key?.startsWith(prefix)) yield { key: Key, bytes: Size, modifiedAt: LastModified };
        }
        token = IsTruncated ? NextContinuationToken : undefined;
      }
    },
    listUploads: (prefix, isCleanUp = false) => listUploads({ Bucket, Prefix: prefix }, isCleanUp, ask),
  };
}

async function* listUploads(
  { Bucket, Prefix }: { Bucket: string; Prefix: string },
  isCleanUp: boolean,
  ask: ExportClient['ask'],
): AsyncGenerator<UnfinishedUpload, void, undefined> {
  for (let place: Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> | null = {}; place !== null;) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket, Prefix, ...place });
    const page: ListMultipartUploadsCommandOutput = await ask(
      EXPORT_RIGHTS.listUploads,
      (client, options) => client.send(command, options),
      { isCleanUp },
    );
    for (const { Key, UploadId } of page.Uploads ?? []) {
      if (Key?.startsWith(Prefix) && UploadId !== undefined) yield { key: Key, uploadId: UploadId };
    }
    place = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : null;
  }
}

/** The bucket is somebody else's: what lies in it may be of any size, and is not to fill this process. */
async function gathered(body: AsyncIterable<Uint8Array>, key: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_WHOLE_BYTES)
      throw sourceRefusal('too_large', `${key} has over 64 MiB, which nothing has that an exporter reads back`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function isNotFound(error: unknown): boolean {
  if (!(error instanceof Refusal) || error.extra['source_status'] !== 404) return false;
  return error.extra['source_code'] !== 'NoSuchBucket';
}

/** Without its quotes. */
export function entityTag(etag: string | undefined): string | null {
  return etag?.replaceAll('"', '') ?? null;
}
