/** The objects of a bucket: reads, lists, uploads and deletes them. */
import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { type Ask, isDenied, isNotFound, S3_RIGHTS } from './s3-requests.ts';
import { uploadParts, type UploadSteps } from './upload-parts.ts';

/** `checksum` is the entity tag, which differs when the object changed. */
export type StoredObject = { bytes: number; checksum: string | null };
export type ListedObject = { key: string; bytes: number; modifiedAt: Date; etag: string };
type UnfinishedUpload = { key: string; uploadId: string; begunAt: Date | undefined };

/** Bytes from `from` up to, and without, `end`. A changed object, whose entity tag is not `etag`, is an error 412. */
type ObjectPart = { from: number; end?: number | undefined; etag?: string | undefined };
/** `from`: offset of the first byte; 0 if S3 returns the whole object instead of a part. */
type OpenedObject = {
  from: number;
  etag: string | undefined;
  bytes: number | undefined;
  chunks: AsyncIterable<Buffer>;
  end(): void;
};

type UploadLimits = Parameters<typeof uploadParts>[3];

const CONTENT_TYPE = 'application/octet-stream';
/** Maximum wait until the parts of an aborted upload are gone. */
const MAX_ABORT_WAIT_MS = 3_200;
/** Maximum number of keys in a request (Amazon S3 API reference: DeleteObjects). */
const MAX_DELETED = 1_000;
/** A manifest of 100,000 files has less. */
const MAX_WHOLE_BYTES = 64 * 1024 ** 2;

/**
 * The objects of a bucket, for file store, exporters and source. Each upload has the CRC-32 of its bytes, which the
 * bucket checks: the one checksum that Amazon, MinIO, versitygw and the SDK support, at almost no cost.
 */
export class BucketObjects {
  readonly #bucket: string;
  readonly #ask: Ask;
  readonly #encryption: ServerSideEncryption | null;

  /** `encryption`: requested for uploads. */
  constructor(bucket: string, ask: Ask, encryption: ServerSideEncryption | null = null) {
    this.#bucket = bucket;
    this.#ask = ask;
    this.#encryption = encryption;
  }

  /** Opens an object or a part of it; read it or end it. */
  async open(key: string, { from, end, etag }: ObjectPart = { from: 0 }): Promise<OpenedObject> {
    const range = from === 0 && end === undefined ? undefined : `bytes=${from}-${end === undefined ? '' : end - 1}`;
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: key, Range: range, IfMatch: etag });
    const ending = new AbortController();
    const { Body, ETag, ContentRange, ContentLength } = await this.#ask(S3_RIGHTS.get, (client, { abortSignal }) =>
      client.send(command, { abortSignal: AbortSignal.any([abortSignal, ending.signal]) }),
    );
    const chunks = Body as AsyncIterable<Buffer> & { destroy(): unknown };
    return {
      from: Number(/^bytes (\d+)-/.exec(ContentRange ?? '')?.[1] ?? 0),
      etag: ETag,
      bytes: ContentLength,
      chunks,
      // The SDK's stream reads ahead: without the signal its connection would stay while the bucket sends nothing.
      end() {
        chunks.destroy();
        ending.abort();
      },
    };
  }

  /** Returns null for a missing object. Refuses one over 64 MiB with too_large. */
  readAll(key: string): Promise<Buffer | null> {
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: key });
    const found = this.#ask(S3_RIGHTS.get, async (client, options) => {
      const { Body } = await client.send(command, options);
      return readWhole(Body as AsyncIterable<Uint8Array>, key);
    });
    return this.#unlessMissing(key, found);
  }

  /** Returns null for a missing object. */
  head(key: string): Promise<StoredObject | null> {
    const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: key });
    const found = this.#ask(S3_RIGHTS.get, (client, options) => client.send(command, options));
    return this.#unlessMissing(
      key,
      found.then(({ ContentLength = 0, ETag }) => ({ bytes: ContentLength, checksum: entityTag(ETag) })),
    );
  }

  /**
   * Returns null for a missing object. S3 answers AccessDenied for one if the policy covers only a prefix; then the
   * list decides.
   */
  async #unlessMissing<T>(key: string, found: Promise<T>): Promise<T | null> {
    try {
      return await found;
    } catch (error) {
      if (isNotFound(error)) return null;
      if (!isDenied(error)) throw error;
      const isMissing = await this.#page(key, { MaxKeys: 1 }).then(
        ({ Contents = [] }) => Contents[0]?.Key !== key,
        () => false,
      );
      if (isMissing) return null;
      throw error;
    }
  }

  #page(prefix: string, place: { ContinuationToken?: string; StartAfter?: string | undefined; MaxKeys?: number }) {
    const command = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: prefix, ...place });
    return this.#ask(S3_RIGHTS.list, (client, options) => client.send(command, options));
  }

  /** Yields objects in the order of their keys, behind the key `after`. */
  async *list(prefix: string, after?: string): AsyncGenerator<ListedObject, void, undefined> {
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const place = token === undefined ? { StartAfter: after } : { ContinuationToken: token };
      const { Contents = [], IsTruncated, NextContinuationToken } = await this.#page(prefix, place);
      for (const { Key, Size = 0, LastModified = new Date(0), ETag = '' } of Contents) {
        if (Key?.startsWith(prefix)) yield { key: Key, bytes: Size, modifiedAt: LastModified, etag: ETag };
      }
      token = IsTruncated ? NextContinuationToken : undefined;
    }
  }

  async *listUploads(prefix: string, isCleanUp = false): AsyncGenerator<UnfinishedUpload, void, undefined> {
    for (
      let place: Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> | null = {};
      place !== null;
    ) {
      const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
        Bucket: this.#bucket,
        Prefix: prefix,
        ...place,
      });
      const page: ListMultipartUploadsCommandOutput = await this.#ask(
        S3_RIGHTS.listUploads,
        (client, options) => client.send(command, options),
        { isCleanUp },
      );
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (Key?.startsWith(prefix) && UploadId !== undefined)
          yield { key: Key, uploadId: UploadId, begunAt: Initiated };
      }
      place = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : null;
    }
  }

  /** Uploads a body and returns the entity tag. `encryption` replaces that of all uploads. */
  async put(
    key: string,
    body: Buffer,
    contentType = CONTENT_TYPE,
    encryption = this.#encryption,
  ): Promise<string | null> {
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      Body: body,
      ContentType: contentType,
      ChecksumCRC32: crc32Of(body),
      ...encryptionMembers(encryption),
    });
    const { ETag } = await this.#ask(S3_RIGHTS.put, (client, options) => client.send(command, options));
    return entityTag(ETag);
  }

  /** Uploads a stream of at most `maxBytes`; the object appears with its last part. */
  upload(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    maxBytes: number,
    limits?: UploadLimits,
  ): Promise<StoredObject> {
    return uploadParts(bytes, maxBytes, this.#uploadOf(key), limits);
  }

  #uploadOf(Key: string): UploadSteps<CompletedPart> {
    const upload = { Bucket: this.#bucket, Key };
    let isBegunTwice = false;
    return {
      put: (body) => this.put(Key, body),
      begin: () =>
        this.begin(Key, (again) => {
          isBegunTwice = again;
        }),
      part: async (UploadId, PartNumber, Body, signal) => {
        const ChecksumCRC32 = crc32Of(Body);
        const command = new UploadPartCommand({ ...upload, UploadId, PartNumber, Body, ChecksumCRC32 });
        const { ETag } = await this.#ask(S3_RIGHTS.put, (client, options) => client.send(command, options), { signal });
        return { PartNumber, ETag, ChecksumCRC32 };
      },
      complete: async (UploadId, Parts, bytes) => {
        const command = new CompleteMultipartUploadCommand({ ...upload, UploadId, MultipartUpload: { Parts } });
        const tag = await this.#ask(S3_RIGHTS.put, async (client, options, again) => {
          try {
            return entityTag((await client.send(command, options)).ETag);
          } catch (error) {
            // An earlier try had completed the object, and its answer was lost.
            const there = again && (error as Error).name === 'NoSuchUpload' ? await this.head(Key) : null;
            if (there?.bytes !== bytes) throw error;
            return there.checksum;
          }
        });
        if (isBegunTwice) await this.#abortOthers(Key, UploadId).catch(() => undefined);
        return tag;
      },
      abort: (uploadId) => this.#abortForGood(Key, uploadId),
    };
  }

  /** Begins an upload in parts, and returns its id. */
  async begin(key: string, onTry: (again: boolean) => void = () => {}): Promise<string> {
    const command = new CreateMultipartUploadCommand({
      Bucket: this.#bucket,
      Key: key,
      ContentType: CONTENT_TYPE,
      ChecksumAlgorithm: 'CRC32',
      ...encryptionMembers(this.#encryption),
    });
    const { UploadId } = await this.#ask(S3_RIGHTS.put, (client, options, again) => {
      onTry(again);
      return client.send(command, options);
    });
    return UploadId!;
  }

  /** Aborts uploads that began although their answer was lost. */
  async #abortOthers(wanted: string, own: string): Promise<void> {
    for await (const { key, uploadId } of this.listUploads(wanted)) {
      if (key === wanted && uploadId !== own) await this.abort(key, uploadId);
    }
  }

  /**
   * Aborts repeatedly: a part whose request we ended may be stored after the abort (Amazon S3 API reference:
   * AbortMultipartUpload).
   */
  async #abortForGood(key: string, uploadId: string): Promise<void> {
    for (let waitMs = 100; ; waitMs *= 2) {
      await this.abort(key, uploadId, true);
      const left = await Array.fromAsync(this.listUploads(key, true));
      if (waitMs > MAX_ABORT_WAIT_MS || !left.some((one) => one.uploadId === uploadId)) return;
      await delay(waitMs);
    }
  }

  /** Aborts an upload; does nothing if it is gone. */
  async abort(key: string, uploadId: string, isCleanUp = false): Promise<void> {
    const command = new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key: key, UploadId: uploadId });
    await this.#ask(S3_RIGHTS.abort, (client, options) => client.send(command, options), { isCleanUp }).catch(
      (error: unknown) => {
        if (!isNotFound(error)) throw error;
      },
    );
  }

  /** Deletes objects; ignores missing ones. */
  async delete(keys: string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_DELETED) {
      const Objects = keys.slice(from, from + MAX_DELETED).map((Key) => ({ Key }));
      const command = new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Quiet: true, Objects } });
      await this.#ask(S3_RIGHTS.delete, async (client, options) => {
        const { Errors = [], $metadata } = await client.send(command, options);
        const error = Errors.find(({ Code }) => Code !== 'NoSuchKey');
        if (error === undefined) return;
        // An error about one object within a successful answer, in the form of the SDK's errors.
        const httpStatusCode = LATER.has(error.Code ?? '') ? 503 : 403;
        throw Object.assign(new Error(error.Message), {
          name: error.Code,
          $metadata: { ...$metadata, httpStatusCode },
        });
      });
    }
  }
}

const LATER = new Set(['InternalError', 'SlowDown', 'ServiceUnavailable']);

/** Collects a body, up to a limit: the bucket is not ours, and an object of any size must not fill this process. */
async function readWhole(body: AsyncIterable<Uint8Array>, key: string): Promise<Buffer> {
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

/** Returns the tag without its quotes. */
function entityTag(etag: string | undefined): string | null {
  return etag?.replaceAll('"', '') ?? null;
}

function crc32Of(bytes: Uint8Array): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum.toString('base64');
}

function encryptionMembers(encryption: ServerSideEncryption | null) {
  if (encryption === null) return {};
  return {
    ServerSideEncryption: encryption.algorithm,
    ...(encryption.kmsKeyId === null ? {} : { SSEKMSKeyId: encryption.kmsKeyId }),
  };
}
