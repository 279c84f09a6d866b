import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  type MultipartUpload,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { FileStoreAway } from '../../domain/core/internal-error.ts';
import { encryptionMembers, type ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import { checkedKey, isFileKey } from './folder-files.ts';
import { readObject } from './s3-object.ts';

/** Where files lie in S3: the prefix is `''`, or as keys are. `encryption`: what uploads ask the bucket for. */
export type S3Location = { bucket: string; prefix: string; encryption?: ServerSideEncryption | null };

/** With the 10,000 parts that S3 takes, 80 GB: more than any file may have (store/imports/pin-file.ts). */
const PART_BYTES = 8 * 1024 * 1024;
/** Of one file. Each is in memory while it is on its way. */
const PARTS_AT_ONCE = 2;
/** The SDK repeats what failed for now, with waits that grow to some seconds. */
const ATTEMPTS = 6;
const CONNECT_WITHIN_MS = 5_000;
/**
 * A socket on which so long nothing came or went is given up; so is that of a reader who takes his time, who is
 * connected again.
 */
const IDLE_MS = 60_000;
/** So long no upload takes. When one was begun S3 tells, and not when it was last written to. */
const UNFINISHED_FOR_MS = 24 * 3_600_000;

/**
 * Files in a bucket of S3, or of a store that speaks its protocol. Credentials, region and endpoint are found by the
 * SDK (its environment, its files, the machine's role), unless `settings` has them.
 */
export function s3Files({ bucket: Bucket, prefix, encryption = null }: S3Location, settings: S3ClientConfig = {}) {
  const client = new S3Client({
    maxAttempts: ATTEMPTS,
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_WITHIN_MS, socketTimeout: IDLE_MS },
    ...settings,
  });
  const root = prefix === '' ? '' : `${prefix}/`;
  const object = (key: string) => ({ Bucket, Key: root + checkedKey(key) });
  const readAll = async (key: string) => {
    const found = await client.send(new GetObjectCommand(object(key))).catch(nullIfMissing);
    return found && Buffer.from(await found.Body!.transformToByteArray());
  };
  return {
    put: (key: string, bytes: AsyncIterable<Uint8Array>) =>
      putObject(client, { ...object(key), ...encryptionMembers(encryption) }, bytes),
    read: (key: string, start = 0, length = Infinity) =>
      Readable.from(readObject(client, object(key), start, length), { objectMode: false }),
    readAll,
    size: (key: string) =>
      client.send(new HeadObjectCommand(object(key))).then(({ ContentLength }) => ContentLength!, nullIfMissing),
    async delete(key: string) {
      await client.send(new DeleteObjectCommand(object(key)));
    },
    list: (start: string) => listObjects(client, Bucket, root, start),
    deleteUnfinished: (now: Date) => abortUploads(client, Bucket, root, now.getTime() - UNFINISHED_FOR_MS),
    async create() {}, // a start has tried the bucket
    async check() {
      await readAll('probes/none');
    },
  };
}

type Place = { Bucket: string; Key: string } & ReturnType<typeof encryptionMembers>;

/** An object appears with its last part. What fails takes its parts along; those that a crash leaves no reader sees. */
async function putObject(
  client: S3Client,
  place: Place,
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ sizeBytes: number }> {
  const source = new Source(bytes);
  const params = { ...place, Body: Readable.from(source.pieces(), { objectMode: false }) };
  try {
    await new Upload({ client, params, partSize: PART_BYTES, queueSize: PARTS_AT_ONCE }).done();
  } catch (error) {
    throw source.error ?? error;
  }
  return { sizeBytes: source.sizeBytes };
}

/** Knows how much came, and what the source itself failed with: taking the parts back may fail as well. */
class Source {
  readonly #bytes: AsyncIterable<Uint8Array>;
  sizeBytes = 0;
  error: unknown;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#bytes = bytes;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of this.#bytes) {
        this.sizeBytes += piece.byteLength;
        yield piece;
      }
    } catch (error) {
      this.error = error;
      throw error;
    }
  }
}

/** What else lies in the bucket, such as the folders that consoles make, are no files of ours. */
async function* listObjects(client: S3Client, Bucket: string, root: string, start: string) {
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix: root + start })) {
    for (const { Key = '', LastModified } of Contents) {
      const key = Key.slice(root.length);
      if (isFileKey(key)) yield { key, modifiedAt: LastModified! };
    }
  }
}

async function abortUploads(client: S3Client, Bucket: string, prefix: string, beforeMs: number): Promise<void> {
  for await (const { Key, UploadId, Initiated } of listUploads(client, Bucket, prefix)) {
    if (!Initiated || Initiated.getTime() >= beforeMs) continue;
    await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch(nullIfMissing);
  }
}

async function* listUploads(client: S3Client, Bucket: string, Prefix: string): AsyncGenerator<MultipartUpload> {
  let place: { KeyMarker?: string; UploadIdMarker?: string } | null = {};
  while (place) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket, Prefix, ...place }),
    );
    yield* page.Uploads ?? [];
    place = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : null;
  }
}

function nullIfMissing(error: Error): null {
  if (error.name === 'NoSuchBucket') throw new FileStoreAway('the bucket of the file store is not there');
  if (['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name)) return null;
  throw error;
}
