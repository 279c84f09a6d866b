import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateBucketCommand, CreateMultipartUploadCommand, DeleteObjectCommand, ListMultipartUploadsCommand, PutObjectCommand, S3Client,
} from '@aws-sdk/client-s3';
import { startS3 } from '../../runtime/embedded/s3.ts';
import { onFileEnd } from './clean-up.ts';
import type { S3Settings } from './open-test-files.ts';
import { rememberSecret } from './people.ts';

export type TestS3 = {
  settings: S3Settings;
  put(key: string, body: string | Buffer): Promise<void>;
  delete(key: string): Promise<void>;
  /** Begins an upload in parts that nobody ends. */
  beginUpload(key: string): Promise<void>;
  /** The keys of uploads in parts that have no end. */
  unfinished(): Promise<string[]>;
};

/** A real S3 with a bucket, that ends with the test file. */
export async function testS3(): Promise<TestS3> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-s3-'));
  const [accessKeyId, secretAccessKey] = [randomBytes(8).toString('hex'), randomBytes(20).toString('hex')];
  rememberSecret(secretAccessKey);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const { endpoint, region, stop } = await startS3({ dataDir, say, accessKeyId, secretAccessKey });
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } });
  onFileEnd(async () => {
    client.destroy();
    await stop();
    await rm(dataDir, { recursive: true });
  });
  const bucket = 'people';
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    settings: { endpoint, region, bucket, access_key_id: accessKeyId, secret_access_key: secretAccessKey },
    async put(key, body) { await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body })); },
    async delete(key) { await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key })); },
    async beginUpload(key) { await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key })); },
    async unfinished() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
      return Uploads.map(({ Key }) => Key!);
    },
  };
}
