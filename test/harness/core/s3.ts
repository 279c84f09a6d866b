import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { CannotStart } from '../../../runtime/cannot-start.ts';
import { findProgram } from '../../../runtime/embedded/binaries.ts';
import { s3Program, startS3 } from '../../../runtime/embedded/s3.ts';
import { onFileEnd } from './clean-up.ts';
import { failInCi, skipHere } from './not-tested.ts';
import type { S3Settings } from './open-test-files.ts';
import { rememberSecret } from './people.ts';

export type TestS3 = {
  settings: S3Settings;
  put(key: string, body: string | Buffer): Promise<void>;
  /** The same for many keys, past the S3: it has no ETag of them. */
  place(keys: string[], body: string): Promise<void>;
  get(key: string): Promise<Buffer>;
  delete(key: string): Promise<void>;
  /** Begins an upload in parts that nobody ends. */
  beginUpload(key: string): Promise<void>;
  /** In their order. */
  keys(prefix?: string): Promise<string[]>;
  /** The keys of uploads that are under way, in their order. */
  unfinished(): Promise<string[]>;
  /** The same S3 with another bucket, an empty one. */
  bucket(name: string): Promise<TestS3>;
};

let ofFile: Promise<TestS3> | undefined;

/** The same for all that ask for it in a test file. */
export function sharedS3(): Promise<TestS3> {
  if (!ofFile) {
    ofFile = testS3();
    onFileEnd(async () => {
      ofFile = undefined;
    });
  }
  return ofFile;
}

const say = (line: string) => process.stderr.write(`${line}\n`);
/** Why the S3 can't be had here; null if it can. Looked for once in a process. */
let missing: Promise<string | null> | undefined;

function whyMissing(): Promise<string | null> {
  return (missing ??= findProgram(s3Program, { say }).then(
    () => null,
    (error: unknown) => {
      if (error instanceof CannotStart) return error.message;
      throw error;
    },
  ));
}

/** Returns whether the S3's program can be had; if not, says what is not tested, and fails in CI. */
export async function hasS3(what: string): Promise<boolean> {
  const reason = await whyMissing();
  if (reason !== null) failInCi(`${what}: ${reason}`);
  return reason === null;
}

/** Skips the tests that call it, and fails them in CI, if the S3's program can't be had. */
export async function needS3(): Promise<void> {
  const reason = await whyMissing();
  if (reason !== null) skipHere(`tests that need an S3: ${reason}`);
}

/** A real S3 with a bucket, that ends with the test file. */
export async function testS3(): Promise<TestS3> {
  await needS3();
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-s3-'));
  const [accessKeyId, secretAccessKey] = [randomBytes(8).toString('hex'), randomBytes(20).toString('hex')];
  rememberSecret(secretAccessKey);
  const { endpoint, region, stop } = await startS3({ dataDir, say, accessKeyId, secretAccessKey });
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  onFileEnd(async () => {
    client.destroy();
    await stop();
    await rm(dataDir, { recursive: true });
  });
  const settings = { endpoint, region, access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  return bucketOf(client, { ...settings, folder: join(dataDir, 's3') }, 'people');
}

type Reached = Omit<TestS3['settings'], 'bucket'> & { folder: string };

async function bucketOf(client: S3Client, { folder, ...settings }: Reached, Bucket: string): Promise<TestS3> {
  await client.send(new CreateBucketCommand({ Bucket }));
  return {
    settings: { ...settings, bucket: Bucket },
    async place(keys, body) {
      const paths = keys.map((key) => join(folder, Bucket, key));
      for (const parent of new Set(paths.map(dirname))) await mkdir(parent, { recursive: true });
      await Promise.all(paths.map((path) => writeFile(path, body)));
    },
    async put(Key, Body) {
      await client.send(new PutObjectCommand({ Bucket, Key, Body }));
    },
    async get(Key) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return Buffer.from(await Body!.transformToByteArray());
    },
    async delete(Key) {
      await client.send(new DeleteObjectCommand({ Bucket, Key }));
    },
    async keys(Prefix = '') {
      const pages = await Array.fromAsync(paginateListObjectsV2({ client }, { Bucket, Prefix }));
      return pages.flatMap(({ Contents = [] }) => Contents.map(({ Key }) => Key!));
    },
    async beginUpload(Key) {
      await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    },
    async unfinished() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.map(({ Key }) => Key!).toSorted();
    },
    bucket: (name) => bucketOf(client, { ...settings, folder }, name),
  };
}
