import { expect } from 'vitest';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import {
  type BucketAccess,
  type ExportBucket,
  openExportBucket,
  type Patience,
  PATIENCE,
} from '../../../connectors/s3/export-bucket.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import type { TestS3 } from '../../harness/core/s3.ts';

export const MIB = 1024 * 1024;
const ALLOW = readFetchAllow('127.0.0.1') as FetchAllow;

export function accessTo({ settings }: TestS3, other: Partial<BucketAccess> = {}): BucketAccess {
  const { endpoint, region, bucket, access_key_id: accessKeyId, secret_access_key: secretAccessKey } = settings;
  return { bucket, region, endpoint, credentials: { accessKeyId, secretAccessKey }, ...other };
}

type Opening = { signal?: AbortSignal; patience?: Partial<Patience> };

/** A bucket that is closed when the test file ends. */
export function opened(
  access: BucketAccess,
  { signal = new AbortController().signal, patience }: Opening = {},
): ExportBucket {
  const bucket = openExportBucket(
    access,
    { allow: ALLOW, fetch: guardedFetch(ALLOW), signal },
    { ...PATIENCE, ...patience },
  );
  onFileEnd(async () => bucket.close());
  return bucket;
}

/** Bytes that differ from part to part, in chunks that fit no part. */
export async function* stream(bytes: number, chunkBytes = 300_001): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes; from += chunkBytes)
    yield Buffer.alloc(Math.min(chunkBytes, bytes - from), `${from},`);
}

export async function whole(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(bytes));
}

export async function refusal(done: Promise<unknown>): Promise<Refusal> {
  const error = await done.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Refusal);
  return error as Refusal;
}
