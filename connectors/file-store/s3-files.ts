/** The file store in a bucket of S3. */
import { setTimeout as delay } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { DeleteObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { backOff, DAY_MS } from '../../domain/time/durations.ts';
import { FileStoreAway } from '../../domain/core/internal-error.ts';
import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import { BucketObjects } from '../s3/bucket-objects.ts';
import { S3_RIGHTS, s3Error, s3Requests } from '../s3/s3-requests.ts';
import { checkedKey, isFileKey } from './folder-files.ts';

/** Location of files in S3: the prefix is `''` or has the form of a key. `encryption`: requested for uploads. */
export type S3Location = { bucket: string; prefix: string; encryption?: ServerSideEncryption | null };

const MIB = 1024 * 1024;
/** Larger than any file may be (store/imports/pin-file.ts). */
const MAX_BYTES = 80 * 10 ** 9;
/** Two parts of a file are being uploaded while a third is filled. */
const UPLOAD_LIMITS = { parts: 10_000, leastPartBytes: 8 * MIB, heldBytes: 24 * MIB };
/** Steps retry after longer outages. */
const RETRY = { retryMs: 5_000, firstWaitMs: 100 };
const CONNECT_WITHIN_MS = 5_000;
/** Time after which an idle socket ends; a slower reader is connected again. */
const IDLE_MS = 60_000;
/** Maximum age of an unfinished upload: S3 reports when it began, not when it was last written to. */
const UNFINISHED_FOR_MS = DAY_MS;

/**
 * Stores files in a bucket of S3 or a compatible store. Without `settings`, the SDK finds credentials, region and
 * endpoint (its environment, its files, the machine's role).
 */
export function s3Files({ bucket, prefix, encryption = null }: S3Location, settings: S3ClientConfig = {}) {
  const client = new S3Client({
    maxAttempts: 1,
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_WITHIN_MS, socketTimeout: IDLE_MS },
    ...settings,
  });
  const ask = s3Requests(client, { retry: RETRY, errorOf });
  const objects = new BucketObjects(bucket, ask, encryption);
  const root = prefix === '' ? '' : `${prefix}/`;
  const path = (key: string) => root + checkedKey(key);
  const readAll = async (key: string) => objects.readAll(path(key));
  return {
    async put(key: string, bytes: AsyncIterable<Uint8Array>) {
      const { bytes: sizeBytes } = await objects.upload(path(key), bytes, MAX_BYTES, UPLOAD_LIMITS);
      return { sizeBytes };
    },
    read: (key: string, start = 0, length = Infinity) =>
      Readable.from(readObject(objects, path(key), start, start + length), { objectMode: false }),
    readAll,
    size: async (key: string) => (await objects.head(path(key)))?.bytes ?? null,
    async delete(key: string) {
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: path(key) });
      await ask(S3_RIGHTS.delete, (_, options) => client.send(command, options));
    },
    /** Skips other objects in the bucket, such as folders that consoles make. */
    async *list(start: string) {
      for await (const { key: found, modifiedAt } of objects.list(root + start)) {
        const key = found.slice(root.length);
        if (isFileKey(key)) yield { key, modifiedAt };
      }
    },
    async deleteUnfinished(now: Date) {
      const beforeMs = now.getTime() - UNFINISHED_FOR_MS;
      for await (const { key, uploadId, begunAt } of objects.listUploads(root)) {
        if (begunAt && begunAt.getTime() < beforeMs) await objects.abort(key, uploadId);
      }
    },
    async create() {}, // a start has tried the bucket
    async check() {
      await readAll('probes/none');
    },
  };
}

/** Maximum number of breaks in a row without any bytes. */
const MAX_BREAKS = 6;
const FIRST_BREAK_MS = 200;

/**
 * Yields the bytes of an object from `start` up to `end`, requested with the first read; none if the object has no
 * more. An answer that breaks off, for example because of a slow reader, resumes in the same object.
 */
async function* readObject(
  objects: BucketObjects,
  key: string,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  let from = start;
  let etag: string | undefined;
  for (let breaks = 0; from < end;) {
    const part = { from, end: end === Infinity ? undefined : end, etag };
    const opened = await objects.open(key, part).catch(nullBehindTheEnd);
    if (!opened) return;
    try {
      if (from > 0 && opened.from !== from) throw new WrongPart();
      ({ etag } = opened);
      for await (const piece of opened.chunks) {
        yield piece;
        from += piece.byteLength;
        breaks = 0;
      }
      return;
    } catch (error) {
      breaks += 1;
      if (breaks >= MAX_BREAKS || error instanceof WrongPart) throw error;
      await delay(backOff(breaks, FIRST_BREAK_MS));
    } finally {
      opened.end();
    }
  }
}

class WrongPart extends Error {
  override readonly name = 'WrongPart';
  override readonly message = 'S3 sent another part of an object than was asked for';
}

/** S3 refuses a range that begins behind the end, or any range of an empty object. */
function nullBehindTheEnd(error: unknown): null {
  if (s3Error(error).status === 416) return null;
  throw error;
}

function errorOf(error: unknown): unknown {
  if (s3Error(error).code !== 'NoSuchBucket') return error;
  return new FileStoreAway('the bucket of the file store is not there', { cause: error });
}
