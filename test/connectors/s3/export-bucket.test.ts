import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { NOTHING_ALLOWED } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { type BucketAccess, type ExportBucket, openExportBucket } from '../../../connectors/s3/export-bucket.ts';
import { probeBucket } from '../../../connectors/s3/probe-bucket.ts';
import { uploadParts } from '../../../connectors/s3/upload-parts.ts';
import { type TestS3, testS3 } from '../../harness/core/s3.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { accessTo, MIB, opened, refusal, stream, whole } from './use-export-bucket.ts';

let s3: TestS3;
let bucket: ExportBucket;
// It may have to be built first.
beforeAll(async () => {
  s3 = await testS3();
  bucket = open();
});

const access = (other: Partial<BucketAccess> = {}) => accessTo(s3, other);
const open = (other: Partial<BucketAccess> = {}, signal?: AbortSignal) =>
  opened(access(other), signal ? { signal } : {});

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
it('a file of any size comes back as it was', async () => {
  for (const bytes of [0, 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 16 * MIB, 37 * MIB]) {
    const key = `sizes/${bytes}`;
    const expected = await whole(stream(bytes));
    const uploaded = await bucket.upload(key, stream(bytes));
    expect(uploaded.bytes).toBe(bytes);
    expect(await bucket.head(key)).toEqual(uploaded);
    expect(sha256(await whole(bucket.read(key)))).toBe(sha256(expected));
    expect(sha256((await bucket.readAll(key))!)).toBe(sha256(expected));
  }
  expect(await s3.unfinished()).toEqual([]);
});

it('what is put is read back, and another file has another checksum', async () => {
  const first = await bucket.put('put/manifest.json', Buffer.from('{"a":1}'), 'application/json');
  expect(await bucket.readAll('put/manifest.json')).toEqual(Buffer.from('{"a":1}'));
  const second = await bucket.put('put/manifest.json', Buffer.from('{"a":2}'), 'application/json');
  expect(second.checksum).not.toBe(first.checksum);
  expect(await bucket.head('put/manifest.json')).toEqual(second);
});

it('what has more than fits into a manifest is not read whole', async () => {
  await s3.put('huge', Buffer.alloc(64 * MIB + 1));
  const { status, message } = await refusal(bucket.readAll('huge'));
  expect([status, message]).toEqual(['too_large', expect.stringContaining('huge has over 64 MiB')]);
});

it('what is not there is told apart from what is refused', async () => {
  expect(await bucket.readAll('nothing')).toBeNull();
  expect(await bucket.head('nothing')).toBeNull();
  const { status, extra } = await refusal(whole(bucket.read('nothing')));
  expect([status, extra['source_code']]).toEqual(['source_refused', 'NoSuchKey']);
  expect((await refusal(open({ bucket: 'none-such' }).readAll('nothing'))).message).toContain(
    'there is no bucket none-such',
  );
});

it('keys keep their signs, also those that a URL would change', async () => {
  const key = "signs/a b+c%20d&e=f?g#h'(i)!*~/ö.csv";
  await bucket.put(key, Buffer.from('x'), 'text/plain');
  expect(await bucket.readAll(key)).toEqual(Buffer.from('x'));
  expect((await Array.fromAsync(bucket.list('signs'))).map((file) => file.key)).toEqual([key]);
  await bucket.delete([key]);
  expect(await bucket.head(key)).toBeNull();
});

it('files are listed over pages, 2,500 keys are deleted, and what lies beside the folder stays', async () => {
  const many = await s3.bucket('many');
  const there = open({ bucket: 'many' });
  const keys = Array.from({ length: 1_100 }, (_, nth) => `folder/a/${String(nth).padStart(4, '0')}`);
  await many.place(keys, 'x');
  await many.put('folder/ab', 'stays');
  const listed = await Array.fromAsync(there.list('folder/a'));
  expect(listed.map(({ key }) => key)).toEqual(keys);
  expect(listed[0]).toMatchObject({ bytes: 1, modifiedAt: expect.any(Date) as Date });
  await there.delete([...keys, ...Array.from({ length: 1_400 }, (_, nth) => `folder/a/never-was-${nth}`)]);
  expect(await many.keys()).toEqual(['folder/ab']);
});

it('unfinished uploads are removed below the folder, and nowhere else', async () => {
  for (const key of ['uploads/a/1', 'uploads/a/b/2', 'uploads/ab', 'uploads/c/3']) await bucket.beginUnfinished(key);
  expect(await bucket.abortUnfinished('uploads/a')).toBe(2);
  expect(await s3.unfinished()).toEqual(['uploads/ab', 'uploads/c/3']);
  expect(await bucket.abortUnfinished('uploads')).toBe(2);
  expect(await s3.unfinished()).toEqual([]);
});

it('a file of 160 MiB is uploaded within 64 MiB of memory', async () => {
  const chunk = Buffer.alloc(MIB / 2, 'x');
  const begin = process.memoryUsage();
  const most = { rss: 0, arrayBuffers: 0 };
  async function* measured() {
    for (let nth = 0; nth < 320; nth += 1) {
      const { rss, arrayBuffers } = process.memoryUsage();
      most.rss = Math.max(most.rss, rss - begin.rss);
      most.arrayBuffers = Math.max(most.arrayBuffers, arrayBuffers - begin.arrayBuffers);
      yield chunk;
    }
  }
  expect(await bucket.upload('large', measured())).toMatchObject({ bytes: 160 * MIB });
  expect(most.arrayBuffers).toBeLessThan(64 * MIB);
  expect(most.rss).toBeLessThan(128 * MIB);
  await bucket.delete(['large']);
});

it('parts grow with what a file may have, and one that outgrows them is refused', async () => {
  const uploads: number[] = [];
  const steps = {
    put: async () => null,
    begin: async () => 'id',
    abort: async () => undefined,
    complete: async () => 'tag',
    part: async (_: string, __: number, body: Buffer) => uploads.push(body.length),
  };
  const chunk = Buffer.alloc(MIB);
  async function* of(mib: number) {
    for (let nth = 0; nth < mib; nth += 1) yield chunk;
  }
  await uploadParts(of(40), 120 * 1024 * MIB, steps);
  expect(uploads).toEqual([13 * MIB, 13 * MIB, 13 * MIB, MIB]);
  const limits = { parts: 3, leastPartBytes: MIB, heldBytes: 4 * MIB };
  expect(await uploadParts(of(3), 1, steps, limits)).toMatchObject({ bytes: 3 * MIB });
  expect((await refusal(uploadParts(of(4), 1, steps, limits))).status).toBe('too_large');
});

it('a stream that fails leaves neither file nor upload, and its own error', async () => {
  async function* failing() {
    yield* stream(20 * MIB);
    throw new Error('the database is gone');
  }
  await expect(bucket.upload('failing/file', failing())).rejects.toThrow('the database is gone');
  expect(await s3.keys('failing/')).toEqual([]);
  expect(await s3.unfinished()).toEqual([]);
});

it('an upload that is canceled leaves neither file nor upload', async () => {
  const controller = new AbortController();
  async function* canceled() {
    yield* stream(20 * MIB);
    controller.abort(new Error('canceled'));
    yield* stream(20 * MIB);
  }
  await expect(open({}, controller.signal).upload('canceled/file', canceled())).rejects.toThrow('canceled');
  expect(await s3.keys('canceled/')).toEqual([]);
  expect(await s3.unfinished()).toEqual([]);
});

it('bad credentials and a bad bucket are refused for good, in the words of the provider', async () => {
  const { credentials } = access() as { credentials: { accessKeyId: string; secretAccessKey: string } };
  const badSecret = await refusal(
    open({ credentials: { ...credentials, secretAccessKey: 'not-the-secret' } }).readAll('x'),
  );
  expect(badSecret.status).toBe('source_refused');
  expect(badSecret.message).toMatch(/answered 403 SignatureDoesNotMatch .*check aws_secret_access_key/);
  expect(badSecret.message).not.toContain('not-the-secret');
  const unknown = await refusal(
    open({ credentials: { ...credentials, accessKeyId: 'NOBODY' } }).put('x', Buffer.from('x'), 'text/plain'),
  );
  expect(unknown.message).toContain('it does not know this aws_access_key_id');
});

it('an address that is not public is refused unless it is allowed', async () => {
  const guarded = openExportBucket(access(), {
    allow: NOTHING_ALLOWED,
    fetch: guardedFetch(NOTHING_ALLOWED),
    signal: AbortSignal.timeout(HANGS_MS),
  });
  expect((await refusal(guarded.head('x'))).status).toBe('address_refused');
  guarded.close();
});

it('a probe leaves nothing behind, below a folder and in the whole bucket', async () => {
  const probed = await s3.bucket('probed');
  await probeBucket(open({ bucket: 'probed' }), 'daily/exports');
  await probeBucket(open({ bucket: 'probed' }), '');
  expect(await probed.keys()).toEqual([]);
  expect(await probed.unfinished()).toEqual([]);
  expect((await refusal(probeBucket(open({ bucket: 'none-such' }), 'x'))).extra['source_code']).toBe('NoSuchBucket');
});
