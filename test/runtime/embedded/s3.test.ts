import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterEach, expect, test } from 'vitest';
import { type EmbeddedS3, startS3 } from '../../../runtime/embedded/s3.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { needS3 } from '../../harness/core/s3.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();
let s3: EmbeddedS3 | undefined;

afterEach(() => s3?.stop());

test('S3 keeps its objects and its address from one start to the next, and refuses another secret', async () => {
  await needS3();
  const said: string[] = [];
  const secretAccessKey = 'a-secret-of-the-embedded-s3';
  rememberSecret(secretAccessKey);
  const options = {
    dataDir: folder.path,
    accessKeyId: 'tester',
    secretAccessKey,
    say: (line: string) => said.push(line),
  };
  const { endpoint } = (s3 = await startS3(options));
  const client = clientOf(s3, secretAccessKey);
  await client.send(new CreateBucketCommand({ Bucket: 'kept' }));
  await client.send(new PutObjectCommand({ Bucket: 'kept', Key: 'a/b', Body: 'words' }));
  await s3.stop();

  s3 = await startS3(options);
  expect(s3.endpoint).toBe(endpoint);
  const { Body } = await client.send(new GetObjectCommand({ Bucket: 'kept', Key: 'a/b' }));
  expect(await Body!.transformToString()).toBe('words');
  await expect(clientOf(s3, 'another').send(new GetObjectCommand({ Bucket: 'kept', Key: 'a/b' }))).rejects.toThrow(
    /signature/i,
  );
  expect(said.at(-1)).toMatch(/^s3: ready in \d+\.\d s$/);
});

function clientOf({ endpoint, region }: EmbeddedS3, secretAccessKey: string): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId: 'tester', secretAccessKey },
  });
}
