import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';
import type { Files } from '../../../store/core/files.ts';
import { openFile } from '../../../store/core/open-file.ts';
import { brokenS3, type BrokenS3 } from '../../harness/core/broken-s3.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { FILES_PREFIX, filesInS3 } from '../../harness/core/open-test-files.ts';
import { type TestS3, testS3 } from '../../harness/core/s3.ts';

const MIB = 1024 * 1024;

let folder: string;
let s3: TestS3;
let broken: BrokenS3;

// The S3 may have to be built first.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-files-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  s3 = await testS3();
  broken = await brokenS3(s3.settings.endpoint);
});

type Store = {
  name: string;
  open(): Files;
  /** What lies there of uploads that did not end. */
  unfinished(): Promise<string[]>;
};

const STORES: Store[] = [
  { name: 'a folder', open: () => folderFiles(folder), unfinished: () => readdir(join(folder, '.unfinished')) },
  { name: 'S3', open: () => filesInS3(s3.settings), unfinished: () => s3.unfinished() },
];

const inPieces = (bytes: Buffer, size = 70_001): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, nth) => bytes.subarray(nth * size, (nth + 1) * size)),
    { objectMode: false },
  );

async function keys(files: Files, prefix: string): Promise<string[]> {
  return (await Array.fromAsync(files.list(prefix), ({ key }) => key)).toSorted();
}

describe.each(STORES)('files in $name', ({ open, unfinished }) => {
  let files: Files;
  beforeAll(() => {
    files = open();
  });

  it('are given back as they were put, also by a part', async () => {
    const bytes = randomBytes(300_000);
    const readsAs = async (from: number, to: number, ...part: [number?, number?]) =>
      expect((await buffer(files.read('parts/one.csv', ...part))).equals(bytes.subarray(from, to))).toBe(true);
    expect(await files.put('parts/one.csv', inPieces(bytes))).toEqual({ sizeBytes: 300_000 });
    expect(await files.size('parts/one.csv')).toBe(300_000);
    expect((await files.readAll('parts/one.csv'))?.equals(bytes)).toBe(true);
    await readsAs(0, 300_000);
    await readsAs(299_990, 300_000, 299_990);
    await readsAs(7, 100_007, 7, 100_000);
    await readsAs(299_990, 300_000, 299_990, 100);
    await readsAs(300_000, 300_000, 300_000);
  });

  it('may be empty, or of many parts', async () => {
    expect(await files.put('sizes/empty', inPieces(Buffer.alloc(0)))).toEqual({ sizeBytes: 0 });
    expect(await files.size('sizes/empty')).toBe(0);
    expect(await files.readAll('sizes/empty')).toEqual(Buffer.alloc(0));
    expect(await buffer(files.read('sizes/empty'))).toEqual(Buffer.alloc(0));
    const bytes = randomBytes(21 * MIB);
    expect(await files.put('sizes/large', inPieces(bytes))).toEqual({ sizeBytes: bytes.length });
    expect((await buffer(files.read('sizes/large'))).equals(bytes)).toBe(true);
    expect((await buffer(files.read('sizes/large', 9 * MIB, 8 * MIB))).equals(bytes.subarray(9 * MIB, 17 * MIB))).toBe(
      true,
    );
  });

  it('that are put again are the later ones', async () => {
    for (const text of ['first and longer', 'second']) await files.put('again/key', inPieces(Buffer.from(text)));
    expect((await files.readAll('again/key'))?.toString()).toBe('second');
  });

  it('that nobody put are null, an error where they are read, and deleted all the same', async () => {
    expect(await files.readAll('none/here')).toBeNull();
    expect(await files.size('none/here')).toBeNull();
    await files.delete('none/here');
    await expect(buffer(files.read('none/here'))).rejects.toThrow(/no such file|does not exist/);
    expect(await openFile(files, 'none/here')).toBeNull();
  });

  it('that were opened are read to their end', async () => {
    for (const bytes of ['some', '']) {
      await files.put('opened/one', inPieces(Buffer.from(bytes)));
      const opened = await openFile(files, 'opened/one');
      await files.delete('opened/one');
      expect(String(await buffer(opened!))).toBe(bytes);
    }
  });

  it('are gone once deleted', async () => {
    await files.put('gone/one', inPieces(Buffer.from('x')));
    await files.delete('gone/one');
    expect(await files.size('gone/one')).toBeNull();
    expect(await keys(files, 'gone/')).toEqual([]);
  });

  it('have no keys that lead elsewhere', async () => {
    for (const key of ['../x', '/x', 'a//b', 'a/../b', 'a b', '']) {
      await expect(async () => files.readAll(key)).rejects.toThrow('a file key holds only');
    }
  });

  it('are listed by how their keys begin, 1,200 as well as none', async () => {
    const all = Array.from({ length: 1_200 }, (_, nth) => `many/${nth % 7}/${nth}`);
    for (let at = 0; at < all.length; at += 50) {
      await Promise.all(all.slice(at, at + 50).map((key) => files.put(key, inPieces(Buffer.from(key)))));
    }
    expect(await keys(files, 'many/')).toEqual(all.toSorted());
    expect(await keys(files, 'many/3/1')).toEqual(all.filter((key) => key.startsWith('many/3/1')).toSorted());
    expect(await keys(files, 'nothing/')).toEqual([]);
    const [listed] = await Array.fromAsync(files.list('many/0/0'));
    expect(Math.abs(listed!.modifiedAt.getTime() - Date.now())).toBeLessThan(120_000);
  });

  it.each([10, 11 * MIB, 40 * MIB])(
    "whose source breaks after %i bytes leave nothing, and the error is the source's",
    async (bytes) => {
      async function* broken() {
        for (let at = 0; at < bytes; at += MIB) yield randomBytes(Math.min(MIB, bytes - at));
        throw new Error('the caller hung up');
      }
      await expect(files.put('broken/key', broken())).rejects.toThrow('the caller hung up');
      expect(await keys(files, 'broken/')).toEqual([]);
      expect(await unfinished()).toEqual([]);
    },
  );
});

it('a file in a folder whose name is no key gets one, and stops no other', async () => {
  const root = await mkdtemp(join(tmpdir(), 'millrace-stray-'));
  onFileEnd(() => rm(root, { recursive: true }));
  const seen: string[] = [];
  const files = folderFiles(root, { onRenamed: (key) => seen.push(key) });
  for (const key of ['outbox/a.eml', 'outbox/z.eml', 'keys/data-1']) await files.put(key, inPieces(Buffer.from(key)));
  await mkdir(join(root, 'outbox', 'old mails'));
  for (const name of ['mail (copy).eml', 'old mails/x.eml', 'no ending+'])
    await writeFile(join(root, 'outbox', name), name);
  const listed = await keys(files, 'outbox/');
  expect(listed).toEqual(['outbox/a.eml', ...seen.toSorted(), 'outbox/z.eml']);
  expect(seen.map((key) => key.replace(/-[0-9a-f-]{36}/, '')).toSorted()).toEqual([
    'outbox/stray',
    'outbox/stray.eml',
    'outbox/stray.eml',
  ]);
  const texts = await Promise.all(seen.map(async (key) => String(await files.readAll(key))));
  expect(texts.toSorted()).toEqual(['mail (copy).eml', 'no ending+', 'old mails/x.eml']);
  expect(await keys(files, 'outbox/')).toEqual(listed);
});

it('a file in a folder that can be given no key fails the list once it has all others', async ({ skip }) => {
  const root = await mkdtemp(join(tmpdir(), 'millrace-stuck-'));
  onFileEnd(() => rm(root, { recursive: true }));
  const files = folderFiles(root);
  for (const key of ['imports/a.csv', 'imports/z.csv']) await files.put(key, inPieces(Buffer.from(key)));
  const stuck = join(root, 'imports', 'm (copy).csv');
  await writeFile(stuck, 'x');
  const change = (attribute: string) => spawnSync('/usr/bin/env', ['chattr', attribute, stuck]).status === 0;
  if (!change('+i')) skip('only root can make a file immutable, on some file systems');
  onTestFinished(() => {
    change('-i');
  });
  const listed: string[] = [];
  await expect(async () => {
    for await (const { key } of files.list('imports/')) listed.push(key);
  }).rejects.toMatchObject({ code: 'EPERM' });
  expect(listed.toSorted()).toEqual(['imports/a.csv', 'imports/z.csv']);
});

it.runIf(platform() === 'linux')("a file that can not be deleted fails with the system's own code", async () => {
  await expect(folderFiles('/proc/self').delete('status')).rejects.toMatchObject({ code: 'EPERM' });
});

const HOUR_MS = 3_600_000;

describe('what a crash left of an upload', () => {
  it('goes from a folder when nobody has written to it for an hour', async () => {
    const files = folderFiles(folder);
    const unfinished = join(folder, '.unfinished');
    for (const [name, minutes] of [
      ['dead', 61],
      ['living', 59],
    ] as const) {
      const time = new Date(Date.now() - minutes * 60_000);
      await writeFile(join(unfinished, name), 'half');
      await utimes(join(unfinished, name), time, time);
    }
    await files.deleteUnfinished(new Date());
    expect(await readdir(unfinished)).toEqual(['living']);
    expect(await keys(files, '.')).toEqual([]);
    await files.deleteUnfinished(new Date(Date.now() + HOUR_MS));
    expect(await readdir(unfinished)).toEqual([]);
  });

  it('goes from S3 when it was begun a day ago, and what others began there stays', async () => {
    const files = filesInS3(s3.settings);
    await s3.beginUpload(`${FILES_PREFIX}/imports/half.csv`);
    await s3.beginUpload('elsewhere/half.csv');
    await files.deleteUnfinished(new Date(Date.now() + 23 * HOUR_MS));
    expect((await s3.unfinished()).toSorted()).toEqual(['elsewhere/half.csv', `${FILES_PREFIX}/imports/half.csv`]);
    await files.deleteUnfinished(new Date(Date.now() + 25 * HOUR_MS));
    expect(await s3.unfinished()).toEqual(['elsewhere/half.csv']);
  });
});

describe('files in an S3 that fails now and then', () => {
  const bytes = randomBytes(20 * MIB);
  let files: Files;
  beforeAll(() => {
    files = filesInS3({ ...s3.settings, endpoint: broken.endpoint });
  });

  it('are put whole although every third request is told to slow down', async () => {
    broken.breakBy((_, nth) => (nth % 3 === 0 ? 'slow down' : null));
    await files.put('faults/slow', inPieces(bytes));
    expect(broken.broken()).toBeGreaterThan(1);
    expect((await filesInS3(s3.settings).readAll('faults/slow'))?.equals(bytes)).toBe(true);
  });

  it('are put whole although connections break within parts', async () => {
    broken.breakBy(({ url = '' }, nth) => (url.includes('partNumber') && nth < 4 ? 'no answer' : null));
    await files.put('faults/cut', inPieces(bytes));
    expect(broken.broken()).toBeGreaterThan(1);
    expect((await filesInS3(s3.settings).readAll('faults/cut'))?.equals(bytes)).toBe(true);
  });

  it('are read whole although each answer breaks off', async () => {
    broken.breakBy(({ method }, nth) => (method === 'GET' && nth < 8 ? { after: 2 * MIB } : null));
    expect((await buffer(files.read('faults/cut'))).equals(bytes)).toBe(true);
    expect(broken.broken()).toBe(8);
    broken.breakBy(({ method }, nth) => (method === 'GET' && nth < 2 ? { after: MIB } : null));
    expect((await buffer(files.read('faults/cut', 5 * MIB, 3 * MIB))).equals(bytes.subarray(5 * MIB, 8 * MIB))).toBe(
      true,
    );
    expect(broken.broken()).toBe(2);
  });

  it('are an error where they have changed between two answers', async () => {
    await files.put('faults/changed', inPieces(bytes));
    broken.breakBy(({ method }, nth) => (method === 'GET' && nth === 0 ? { after: MIB } : null));
    const stream = files.read('faults/changed');
    await once(stream, 'readable');
    await filesInS3(s3.settings).put('faults/changed', inPieces(randomBytes(20 * MIB)));
    await expect(buffer(stream)).rejects.toMatchObject({ name: 'PreconditionFailed' });
  });

  it('leave nothing, and fail, where it keeps failing', async () => {
    broken.breakBy(({ url = '' }) => (url.includes('partNumber=2') ? 'no answer' : null));
    await expect(files.put('faults/never', inPieces(bytes))).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await files.size('faults/never')).toBeNull();
    expect((await s3.unfinished()).filter((key) => key.includes('never'))).toEqual([]);
    broken.breakBy(() => 'no answer');
    await expect(buffer(files.read('faults/cut'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});
