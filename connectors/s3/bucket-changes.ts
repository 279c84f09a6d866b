import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { encryptionMembers, type ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import type { BucketAccess } from './bucket-access.ts';
import type { ExportClient } from './export-client.ts';
import { EXPORT_RIGHTS } from './export-refusal.ts';
import { entityTag, isNotFound, type StoredFiles } from './stored-files.ts';
import type { UploadSteps } from './upload-parts.ts';

export type BucketChanges = {
  /** Returns the entity tag. `encryption`: instead of that of the access. */
  put(key: string, body: Buffer, contentType: string, encryption?: ServerSideEncryption): Promise<string | null>;
  uploadOf(key: string): UploadSteps<CompletedPart>;
  abort(key: string, uploadId: string): Promise<void>;
  delete(keys: string[]): Promise<void>;
};

const CONTENT_TYPE = 'application/octet-stream';
const LONGEST_LATER_MS = 3_200;
/** Of a request (Amazon S3 API reference: DeleteObjects). */
const MAX_DELETED = 1_000;

/**
 * Each request with the CRC-32 of its bytes, which the bucket compares: of all checksums the one that Amazon, MinIO and
 * versitygw know, that the SDK itself uses, and that costs next to nothing.
 */
export function bucketChanges(
  { bucket: Bucket, encryption: ofAccess = null }: BucketAccess,
  { ask }: ExportClient,
  stored: StoredFiles,
): BucketChanges {
  const put: BucketChanges['put'] = async (Key, Body, ContentType, encryption) => {
    const asked = encryptionMembers(encryption ?? ofAccess);
    const command = new PutObjectCommand({ Bucket, Key, Body, ContentType, ChecksumCRC32: crc32Of(Body), ...asked });
    const { ETag } = await ask(EXPORT_RIGHTS.put, (client, options) => client.send(command, options));
    return entityTag(ETag);
  };
  const abort = async (Key: string, UploadId: string, isCleanUp = false) => {
    const command = new AbortMultipartUploadCommand({ Bucket, Key, UploadId });
    await ask(EXPORT_RIGHTS.abort, (client, options) => client.send(command, options), { isCleanUp }).catch(
      (error: unknown) => {
        if (!isNotFound(error)) throw error;
      },
    );
  };
  return {
    put,
    abort,
    uploadOf: (key) =>
      uploadSteps({ Bucket, Key: key, encryption: encryptionMembers(ofAccess) }, { ask, stored, put, abort }),
    async delete(keys) {
      for (let from = 0; from < keys.length; from += MAX_DELETED) {
        await deleteSome(Bucket, keys.slice(from, from + MAX_DELETED), ask);
      }
    },
  };
}

type Means = {
  ask: ExportClient['ask'];
  stored: StoredFiles;
  put: BucketChanges['put'];
  abort(key: string, uploadId: string, isCleanUp?: boolean): Promise<void>;
};

type Upload = { Bucket: string; Key: string; encryption: ReturnType<typeof encryptionMembers> };

function uploadSteps(
  { Bucket, Key, encryption }: Upload,
  { ask, stored, put, abort }: Means,
): UploadSteps<CompletedPart> {
  let isBegunTwice = false;
  /** Of a beginning whose answer was lost nobody knows the upload. */
  const abortOthers = async (own: string) => {
    for await (const { key, uploadId } of stored.listUploads(Key))
      if (key === Key && uploadId !== own) await abort(Key, uploadId);
  };
  return {
    put: (body) => put(Key, body, CONTENT_TYPE),
    async abort(uploadId) {
      // A part whose request we ended may be stored behind it (Amazon S3 API reference: AbortMultipartUpload).
      for (let waitMs = 100; ; waitMs *= 2) {
        await abort(Key, uploadId, true);
        const left = await Array.fromAsync(stored.listUploads(Key, true));
        if (waitMs > LONGEST_LATER_MS || !left.some((one) => one.uploadId === uploadId)) return;
        await delay(waitMs);
      }
    },
    async begin() {
      const command = new CreateMultipartUploadCommand({
        Bucket,
        Key,
        ContentType: CONTENT_TYPE,
        ChecksumAlgorithm: 'CRC32',
        ...encryption,
      });
      const { UploadId } = await ask(EXPORT_RIGHTS.put, (client, options, again) => {
        isBegunTwice = again;
        return client.send(command, options);
      });
      return UploadId!;
    },
    async part(UploadId, PartNumber, Body, signal) {
      const ChecksumCRC32 = crc32Of(Body);
      const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body, ChecksumCRC32 });
      const { ETag } = await ask(EXPORT_RIGHTS.put, (client, options) => client.send(command, options), { signal });
      return { PartNumber, ETag, ChecksumCRC32 };
    },
    async complete(UploadId, Parts, bytes) {
      const command = new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } });
      const tag = await ask(EXPORT_RIGHTS.put, async (client, options, again) => {
        try {
          return entityTag((await client.send(command, options)).ETag);
        } catch (error) {
          // An earlier try had put the file together, and its answer was lost.
          const there = again && (error as Error).name === 'NoSuchUpload' ? await stored.head(Key) : null;
          if (there?.bytes !== bytes) throw error;
          return there.checksum;
        }
      });
      if (isBegunTwice) await abortOthers(UploadId).catch(() => undefined);
      return tag;
    },
  };
}

async function deleteSome(Bucket: string, keys: string[], ask: ExportClient['ask']): Promise<void> {
  const command = new DeleteObjectsCommand({ Bucket, Delete: { Quiet: true, Objects: keys.map((Key) => ({ Key })) } });
  await ask(EXPORT_RIGHTS.delete, async (client, options) => {
    const { Errors = [], $metadata } = await client.send(command, options);
    const error = Errors.find(({ Code }) => Code !== 'NoSuchKey');
    // As the SDK's errors are: what is said of a file in a good answer is an answer by itself.
    if (error === undefined) return;
    throw Object.assign(new Error(error.Message), {
      name: error.Code,
      $metadata: { ...$metadata, httpStatusCode: statusOf(error.Code) },
    });
  });
}

const LATER = new Set(['InternalError', 'SlowDown', 'ServiceUnavailable']);
const statusOf = (code: string | undefined): number => (LATER.has(code ?? '') ? 503 : 403);

function crc32Of(bytes: Uint8Array): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum.toString('base64');
}
