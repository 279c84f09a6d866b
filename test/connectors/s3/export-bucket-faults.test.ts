import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { ExportBucket, Patience } from '../../../connectors/s3/export-bucket.ts';
import { probeBucket } from '../../../connectors/s3/probe-bucket.ts';
import { FIRST_WAIT_MS } from '../../../connectors/s3/s3-requests.ts';
import { certificate, trust } from '../../harness/core/http-source.ts';
import {
  breakAfter,
  breakAnswer,
  damage,
  loseAnswer,
  s3Answer,
  s3Error,
  type S3Match,
  type S3Proxy,
  s3Proxy,
  silence,
  SLOW_DOWN,
  stall,
  unlessHeader,
} from '../../harness/core/s3-proxy.ts';
import { type TestS3, testS3 } from '../../harness/core/s3.ts';
import { accessTo, MIB, opened, refusal, stream, whole } from './use-export-bucket.ts';

let s3: TestS3;
let proxy: S3Proxy;
let bucket: ExportBucket;
// It may have to be built first.
beforeAll(async () => {
  s3 = await testS3();
  proxy = await s3Proxy(s3.settings.endpoint);
  bucket = through();
});
beforeEach(() => {
  proxy.clear();
  proxy.asked.length = 0;
});

/** A bucket behind the proxy, that is tried again soon. */
const through = (patience: Partial<Patience> = {}) =>
  opened(accessTo(s3, { endpoint: proxy.endpoint }), { patience: { firstWaitMs: 20, ...patience } });
const BYTES = 20 * MIB;

/** Uploads a file of three parts, and looks that it is there as it was, and nothing besides. */
async function expectUploaded(key: string, to = bucket): Promise<void> {
  const uploaded = await to.upload(key, stream(BYTES));
  expect(uploaded.bytes).toBe(BYTES);
  expect((await s3.get(key)).equals(await whole(stream(BYTES)))).toBe(true);
  expect(await to.head(key)).toEqual(uploaded);
  expect(await s3.unfinished()).toEqual([]);
}

it('a short file is one request', async () => {
  await bucket.upload('short', stream(MIB));
  expect(proxy.asked.map(({ operation }) => operation)).toEqual(['PutObject']);
});

it('a file in parts is as many requests, and two more', async () => {
  await expectUploaded('plain');
  expect(proxy.count({ operation: 'UploadPart' })).toBe(3);
  expect(proxy.count()).toBe(6);
});

it('over TLS a part is signed without being hashed, and damage on its way is still noticed', async () => {
  const tls = await certificate();
  trust(tls);
  const safe = await s3Proxy(s3.settings.endpoint, { tls });
  const over = opened(accessTo(s3, { endpoint: safe.endpoint }), { patience: { firstWaitMs: 20 } });
  await expectUploaded('tls', over);
  const parts = safe.asked.filter(({ operation }) => operation === 'UploadPart');
  expect(parts.map(({ hash }) => hash)).toEqual(Array(3).fill('UNSIGNED-PAYLOAD'));
  safe.meet({ operation: 'UploadPart', part: 2 }, damage, 2);
  await expectUploaded('damaged', over);
  expect(safe.count({ operation: 'UploadPart', key: /^damaged$/ })).toBe(5);
});

it.each([
  ['SlowDown at a part', { operation: 'UploadPart', part: 2 }, SLOW_DOWN],
  ['500 at the beginning', { operation: 'CreateMultipartUpload' }, s3Error(500, 'InternalError')],
  ['SlowDown at the end', { operation: 'CompleteMultipartUpload' }, SLOW_DOWN],
  ['an error in a good answer at the end', { operation: 'CompleteMultipartUpload' }, s3Error(200, 'InternalError')],
  ['a body that was damaged on its way', { operation: 'UploadPart', part: 1 }, s3Error(400, 'BadDigest')],
  ['a connection that breaks in a part', { operation: 'UploadPart', part: 3 }, breakAfter(2 * MIB)],
  ['a connection that breaks at once', { operation: 'UploadPart', part: 1 }, breakAfter(0)],
  ['the lost answer of a part', { operation: 'UploadPart', part: 2 }, loseAnswer],
  ['the lost answer of the beginning', { operation: 'CreateMultipartUpload' }, loseAnswer],
  ['the lost answer of the end', { operation: 'CompleteMultipartUpload' }, loseAnswer],
] satisfies [string, S3Match, Parameters<S3Proxy['meet']>[1]][])(
  '%s is got over within the upload',
  async (name, match, fault) => {
    proxy.meet(match, fault, 2);
    await expectUploaded(`faults/${name}`);
    expect(proxy.count(match)).toBe(3);
  },
);

it.each([
  ['takes no more', stall],
  ['does not answer', silence],
] as const)('a bucket that %s stalls, and is tried again', async (_, fault) => {
  proxy.meet({ operation: 'UploadPart', part: 2 }, fault);
  await expectUploaded('stalled', through({ idleMs: 1_500, answerMs: 1_500 }));
});

it('an answer that breaks off is asked for again where it is read as a whole, and refused for a while where it is not', async () => {
  await s3.put('broken', Buffer.alloc(MIB, 'x'));
  proxy.meet({ operation: 'GetObject' }, breakAnswer(1_000), 2);
  expect(await bucket.readAll('broken')).toHaveLength(MIB);
  proxy.meet({ operation: 'GetObject' }, breakAnswer(1_000));
  expect((await refusal(whole(bucket.read('broken')))).status).toBe('transfer_broken');
});

it('longer trouble is told as such, with the time that was asked for, and the upload is given up', async () => {
  proxy.meet(
    { operation: 'UploadPart' },
    s3Error(503, 'SlowDown', 'Please reduce your request rate.', { 'retry-after': '120' }),
    9,
  );
  const { status, message, extra } = await refusal(bucket.upload('given-up', stream(BYTES)));
  expect(status).toBe('source_unavailable');
  expect(extra).toMatchObject({ source_code: 'SlowDown', source_status: 503, retry_after: 120 });
  expect(message).toMatch(/answered 503 SlowDown for the bucket people \("Please reduce your request rate"\)/);
  expect(message).toContain('it asks to come back in 120 s');
  proxy.clear();
  proxy.meet({ operation: 'PutObject' }, SLOW_DOWN, 1_000);
  const tired = await refusal(through({ retryMs: 1_000 }).upload('given-up', stream(10)));
  expect(tired.status).toBe('source_unavailable');
  expect(proxy.count({ operation: 'PutObject' })).toBeGreaterThan(2);
  expect(FIRST_WAIT_MS).toBe(250);
  expect(await s3.unfinished()).toEqual([]);
  expect(await s3.keys('given-up')).toEqual([]);
});

it('what fails for good ends the upload at once: the rest of the stream is not read', async () => {
  let read = 0;
  async function* counted() {
    for await (const chunk of stream(200 * MIB)) {
      read += chunk.length;
      yield chunk;
    }
  }
  proxy.meet({ operation: 'UploadPart', part: 1 }, s3Error(403, 'AccessDenied', 'Access Denied'));
  expect((await refusal(bucket.upload('for-good', counted()))).status).toBe('source_refused');
  expect(read).toBeLessThan(64 * MIB);
  expect(await s3.unfinished()).toEqual([]);
});

it.each([
  ['PutObject', 's3:PutObject'],
  ['GetObject', 's3:GetObject'],
  ['ListObjects', 's3:ListBucket'],
  ['DeleteObjects', 's3:DeleteObject'],
  ['ListMultipartUploads', 's3:ListBucketMultipartUploads'],
  ['AbortMultipartUpload', 's3:AbortMultipartUpload'],
] as const)('a probe tells that what %s needs is missing', async (operation, right) => {
  proxy.meet({ operation }, s3Error(403, 'AccessDenied', 'Access Denied'), 9);
  const { message, extra } = await refusal(probeBucket(bucket, `probe/${operation}`));
  expect(message).toContain(
    `answered 403 AccessDenied for the bucket people ("Access Denied"): the key lacks ${right}`,
  );
  expect(extra).toMatchObject({ missing_rights: [right] });
  proxy.clear();
  await bucket.abortUnfinished('probe');
});

it('a probe tells all that is missing at once', async () => {
  const denied = s3Error(403, 'AccessDenied', 'Access Denied');
  for (const operation of ['DeleteObjects', 'ListObjects', 'AbortMultipartUpload'] as const)
    proxy.meet({ operation }, denied, 9);
  const { message, extra } = await refusal(probeBucket(bucket, 'probe/all'));
  expect(message).toContain('Missing are in all s3:ListBucket, s3:AbortMultipartUpload, s3:DeleteObject');
  expect(extra).toMatchObject({ missing_rights: ['s3:ListBucket', 's3:AbortMultipartUpload', 's3:DeleteObject'] });
  proxy.clear();
  await bucket.abortUnfinished('probe');
});

const ENCRYPTION_HEADER = 'x-amz-server-side-encryption';

it.each([
  ['AES256', 'aws:kms'],
  ['aws:kms', 'AES256'],
] as const)(
  'a bucket that wants uploads to name %s: a probe names the setting, and with it files are uploaded',
  async (algorithm, other) => {
    const denied = s3Error(403, 'AccessDenied', 'Access Denied');
    const operation: S3Match['operation'] = ['PutObject', 'CreateMultipartUpload'];
    proxy.meet({ operation }, unlessHeader(ENCRYPTION_HEADER, algorithm, denied), 99);
    const open = (encryption: { algorithm: 'AES256' | 'aws:kms'; kmsKeyId: string | null }) =>
      opened(accessTo(s3, { endpoint: proxy.endpoint, encryption }), { patience: { firstWaitMs: 20 } });
    for (const without of [bucket, open({ algorithm: other, kmsKeyId: null })]) {
      const { message, extra } = await refusal(probeBucket(without, 'encrypted-probe'));
      expect(message).toBe(
        `the bucket denies uploads without the header x-amz-server-side-encryption: ${algorithm}: ` +
          `set server_side_encryption to ${algorithm}`,
      );
      expect(extra).toMatchObject({ setting: 'server_side_encryption', source_code: 'AccessDenied' });
    }
    expect((await refusal(bucket.put('plain', Buffer.from('x'), 'text/plain'))).message).toContain(
      'a check of the exporter finds out',
    );
    const encrypted = open({ algorithm, kmsKeyId: algorithm === 'aws:kms' ? 'arn:aws:kms:eu-west-1:1:key/k' : null });
    await probeBucket(encrypted, 'encrypted-probe');
    await expectUploaded(`encrypted ${algorithm}`, encrypted);
    expect(await s3.keys('encrypted-probe')).toEqual([]);
  },
);

const MD5_WORDS = [
  ['MissingContentMD5', 'Missing required header for this request: Content-MD5.'],
  ['InvalidRequest', 'Missing required header for this request: Content-MD5 OR x-amz-checksum-*'],
] as const;

it.each(MD5_WORDS)(
  'a bucket wants Content-MD5 for deleting and says %s: a probe names the setting that deletes',
  async (code, words) => {
    proxy.meet({ operation: ['DeleteObjects'] }, unlessHeader('content-md5', null, s3Error(400, code, words)), 99);
    const { message, extra } = await refusal(probeBucket(bucket, 'md5-probe'));
    expect(message).toContain(
      `answered 400 ${code} for the bucket people ("${words.replace(/\.$/, '')}"): ` +
        'the bucket wants Content-MD5 with each request that deletes: set content_md5 to true',
    );
    expect(extra).toMatchObject({ setting: 'content_md5', source_code: code });
    const sending = opened(accessTo(s3, { endpoint: proxy.endpoint, contentMd5: true }), {
      patience: { firstWaitMs: 20 },
    });
    await probeBucket(sending, 'md5-probe');
    await expectUploaded('with md5', sending);
    await sending.delete([...(await s3.keys('md5-probe')), 'with md5']);
    expect([await s3.keys('md5-probe'), await s3.keys('with md5')]).toEqual([[], []]);
  },
);

it('the action that Amazon itself names is told as the missing one', async () => {
  const words =
    'User: arn:aws:iam::111111111111:user/x is not authorized to perform: kms:GenerateDataKey on resource: ' +
    'arn:aws:kms:eu-west-1:111111111111:key/k because no identity-based policy allows the kms:GenerateDataKey action';
  proxy.meet({ operation: 'PutObject' }, s3Error(403, 'AccessDenied', words));
  const { message, extra } = await refusal(bucket.put('kms', Buffer.from('x'), 'text/plain'));
  expect(message).toContain(words);
  expect(extra['missing_right']).toBe('kms:GenerateDataKey');
});

it('unfinished uploads are found where a prefix finds whole keys only, as with MinIO', async () => {
  await bucket.beginUnfinished('minio/a/1');
  await bucket.beginUnfinished('minio/ab');
  const none = s3Answer('<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>');
  proxy.meet({ operation: 'ListMultipartUploads' }, none);
  expect(await bucket.abortUnfinished('minio/a')).toBe(1);
  expect(await s3.unfinished()).toEqual(['minio/ab']);
  await bucket.abortUnfinished('minio');
});

it('a missing file is told where S3 says AccessDenied for it, as under a policy for a folder', async () => {
  const denied = s3Error(403, 'AccessDenied', 'Access Denied');
  proxy.meet({ operation: ['GetObject', 'HeadObject'] }, denied, 9);
  expect(await bucket.readAll('never/was')).toBeNull();
  expect(await bucket.head('never/was')).toBeNull();
  await s3.put('never/read', 'x');
  expect((await refusal(bucket.readAll('never/read'))).extra['missing_right']).toBe('s3:GetObject');
  expect((await refusal(bucket.head('never/read'))).extra['missing_right']).toBe('s3:GetObject');
});

it('the region of a bucket that is elsewhere is named', async () => {
  proxy.meet(
    { operation: 'PutObject' },
    s3Error(301, 'PermanentRedirect', 'The bucket must be addressed elsewhere.', {
      'x-amz-bucket-region': 'eu-west-3',
    }),
  );
  const { status, message } = await refusal(bucket.put('x', Buffer.from('x'), 'text/plain'));
  expect(status).toBe('source_refused');
  expect(message).toContain('check aws_region: the bucket is not in us-east-1 but in eu-west-3');
});

it('a file that cannot be deleted is told, and one that is slow to go is tried again', async () => {
  const errors = (code: string) =>
    s3Answer(`<DeleteResult><Error><Key>k</Key><Code>${code}</Code><Message>No</Message></Error></DeleteResult>`);
  proxy.meet({ operation: 'DeleteObjects' }, errors('SlowDown'), 2);
  await bucket.delete(['k']);
  expect(proxy.count()).toBe(3);
  proxy.meet({ operation: 'DeleteObjects' }, errors('AccessDenied'));
  expect((await refusal(bucket.delete(['k']))).extra).toMatchObject({
    source_code: 'AccessDenied',
    missing_right: 's3:DeleteObject',
  });
});
