import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { asBytes } from '../../store/core/files.ts';
import { s3Files } from '../../connectors/file-store/s3-files.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { listFiles } from '../harness/core/files.ts';
import { rememberSecret } from '../harness/core/people.ts';
import { programEnv } from '../harness/core/program-env.ts';
import { filesEnv, startServer } from '../harness/core/served.ts';
import { s3Error, type S3Match, s3Proxy, unlessHeader } from '../harness/core/s3-proxy.ts';
import { useStack } from '../harness/core/stack.ts';

const START = fileURLToPath(new URL('../../runtime/start.ts', import.meta.url));

const WRONG = randomBytes(20).toString('hex');
const stack = useStack({ filesOnS3: true });
let home: string;
beforeAll(async () => {
  rememberSecret(WRONG);
  home = await mkdtemp(join(tmpdir(), 'millrace-home-'));
  onFileEnd(() => rm(home, { recursive: true, force: true }));
});

type Env = Record<string, string | undefined>;

/** What the real `npm start` says that can't begin. */
async function start(env: Env): Promise<{ code: unknown; said: string }> {
  const { store } = stack;
  const given = {
    ...programEnv(),
    HOME: home,
    PORT: '0',
    MILLRACE_DATA_DIR: await mkdtemp(join(home, 'data-')),
    DATABASE_URL: store.url,
    MILLRACE_SECRET_KEY: store.secretKey.toString('base64'),
    TEMPORAL_ADDRESS: inject('temporal').address,
    AWS_EC2_METADATA_DISABLED: 'true',
    ...filesEnv(store),
    ...env,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [START], { env: given }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, said: out + err }),
    );
  });
}

const lastLine = (said: string) => said.trimEnd().split('\n').at(-1);

describe('the service with files in S3', () => {
  it('starts where the bucket can be used, and leaves nothing of its probe there', async () => {
    await startServer(stack);
    expect(await listFiles(stack.store, 'probes/')).toEqual([]);
  });

  const CASES: { what: string; env: Env; says: RegExp }[] = [
    {
      what: 'its secret is wrong',
      env: { AWS_SECRET_ACCESS_KEY: WRONG },
      says: /^MILLRACE_FILES: s3:\/\/people\/test\/files can't be used: it answered 403 SignatureDoesNotMatch: .* AWS_SECRET_ACCESS_KEY$/,
    },
    {
      what: 'its access key is unknown',
      env: { AWS_ACCESS_KEY_ID: 'nobody' },
      says: /it answered 40\d \w+: it does not know this access key: check AWS_ACCESS_KEY_ID$/,
    },
    {
      what: 'it has no credentials',
      env: { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined },
      says: /there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    },
    { what: 'it has no region', env: { AWS_REGION: undefined }, says: /there is no region: set AWS_REGION$/ },
    {
      what: 'there is no such bucket',
      env: { MILLRACE_FILES: 's3://another' },
      says: /s3:\/\/another can't be used: it answered 404 NoSuchBucket: there is no bucket of this name/,
    },
    {
      what: 'nobody is there',
      env: { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' },
      says: /no answer \(ECONNREFUSED\): check AWS_ENDPOINT_URL_S3$/,
    },
  ];

  it('names the setting for a bucket that denies uploads without encryption, and uploads with it', async () => {
    const {
      endpoint,
      region,
      bucket,
      access_key_id: accessKeyId,
      secret_access_key: secretAccessKey,
    } = stack.store.s3!;
    const proxy = await s3Proxy(endpoint);
    const operation: S3Match['operation'] = ['PutObject', 'CreateMultipartUpload'];
    const denied = s3Error(403, 'AccessDenied', 'Access Denied');
    proxy.meet({ operation }, unlessHeader('x-amz-server-side-encryption', 'aws:kms', denied), 99);
    const { code, said } = await start({ AWS_ENDPOINT_URL_S3: proxy.endpoint, MILLRACE_FILES_ENCRYPTION: 'AES256' });
    expect(code).toBe(1);
    expect(lastLine(said)).toContain(
      "can't be used: the bucket denies uploads without the header x-amz-server-side-encryption: aws:kms: " +
        'set MILLRACE_FILES_ENCRYPTION=aws:kms',
    );
    const files = s3Files(
      { bucket, prefix: 'encrypted', encryption: { algorithm: 'aws:kms', kmsKeyId: 'alias/files' } },
      { endpoint: proxy.endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } },
    );
    for (const content of ['short', 'long'.repeat(3 * 1024 ** 2)]) {
      await files.put('imports/a', asBytes(content));
      expect((await files.readAll('imports/a'))!.toString() === content).toBe(true);
    }
    await files.delete('imports/a');
  });

  it.concurrent.each(CASES)('says what to do when $what', async ({ env, says }) => {
    const { code, said } = await start(env);
    expect(code).toBe(1);
    expect(lastLine(said)).toMatch(says);
    expect(said).not.toContain('    at ');
    for (const secret of [stack.store.s3!.secret_access_key, WRONG]) expect(said).not.toContain(secret);
  });
});
