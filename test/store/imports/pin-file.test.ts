import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';
import type { Files } from '../../../store/core/files.ts';
import { pinFile } from '../../../store/imports/pin-file.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const LIMITS = { uploadBytes: 1e9, decompressedBytes: 1e9 };
let folder: string;
let files: Files;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-pin-'));
  files = folderFiles(folder);
});
afterAll(() => rm(folder, { recursive: true }));

/** The bytes in pieces of a size, as a network may bring them. */
function inPieces(bytes: Buffer, size: number): Readable {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return Readable.from(pieces, { objectMode: false });
}

async function pin(bytes: Buffer, size = 1_000) {
  const pinned = await pinFile(files, inPieces(bytes, size), LIMITS);
  return { pinned, stored: (await files.readAll(pinned.fileKey))! };
}

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of files.list('')) found.push(key);
  return found.toSorted();
}

describe('a pinned file', () => {
  test('is what was sent, gzipped or not, in pieces of any size', async () => {
    const pieceSize = fc.integer({ min: 1, max: 700 });
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), pieceSize, async (array, size) => {
        const bytes = Buffer.concat([Buffer.from('u'), array]);
        expect((await pin(bytes, size)).stored).toEqual(bytes);
        const gzip = await pin(gzipSync(bytes), size);
        expect(gzip.stored).toEqual(bytes);
        expect(gzip.pinned).toMatchObject({ sourceGzip: true, sourceDefect: null });
      }),
      { numRuns: sampledRuns(40) },
    );
  });

  test('may be of several gzip members', async () => {
    const both = await pin(Buffer.concat([gzipSync('one,'), gzipSync('two')]), 7);
    expect([both.stored.toString(), both.pinned.sourceDefect]).toEqual(['one,two', null]);
  });

  test('may be empty, or shorter than a gzip header', async () => {
    expect((await pin(Buffer.alloc(0))).pinned).toMatchObject({ fileBytes: 0, sourceGzip: false });
    expect((await pin(Buffer.from([0x1f]))).stored).toEqual(Buffer.from([0x1f]));
  });

  test('that was cut off holds all that came out before, and says so', async () => {
    const bytes = Buffer.from(randomBytes(100_000).toString('hex'));
    const gzip = gzipSync(bytes);
    const cuts = fc.integer({ min: 2, max: gzip.length - 1 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.integer({ min: 500, max: 50_000 }), async (cut, size) => {
        const { pinned, stored } = await pin(gzip.subarray(0, cut), size);
        expect(pinned.sourceDefect).toMatch(/cut off/);
        expect(pinned.sourceBytes).toBe(cut);
        expect(bytes.subarray(0, stored.length).equals(stored)).toBe(true);
        expect(stored.length).toBeGreaterThan(bytes.length * (cut / gzip.length) - 70_000);
      }),
      { numRuns: sampledRuns(25) },
    );
    expect((await pin(gzip.subarray(0, gzip.length - 1))).stored.equals(bytes)).toBe(true);
  });

  test('that is corrupt in the middle holds the beginning, and the checksum of the whole source', async () => {
    const bytes = Buffer.from(randomBytes(100_000).toString('hex'));
    const gzip = Buffer.from(gzipSync(bytes));
    gzip.fill(0xff, gzip.length >> 1, (gzip.length >> 1) + 200);
    const { pinned, stored } = await pin(gzip);
    expect(pinned.sourceDefect).toMatch(/corrupt/);
    expect(pinned.sourceBytes).toBe(gzip.length);
    expect(stored.length).toBeGreaterThan(bytes.length / 2 - 70_000);
    expect(bytes.subarray(0, 50_000).equals(stored.subarray(0, 50_000))).toBe(true);
  });

  test('of which any bit is wrong has a defect, unless what it holds is as it was', async () => {
    const bytes = Buffer.from(`user_id,attribute_key,value\n${randomBytes(300).toString('hex')}`);
    const gzip = gzipSync(bytes);
    const bits = fc.integer({ min: 16, max: gzip.length * 8 - 1 });
    await fc.assert(
      fc.asyncProperty(bits, fc.integer({ min: 1, max: 400 }), async (bit, size) => {
        const damaged = Buffer.from(gzip);
        damaged[bit >> 3]! ^= 1 << (bit & 7);
        const { pinned, stored } = await pin(damaged, size);
        if (pinned.sourceDefect === null) expect(stored).toEqual(bytes);
        else expect(pinned.sourceDefect).toMatch(bit >= (gzip.length - 8) * 8 ? /corrupt/ : /corrupt|cut off/);
      }),
      { numRuns: sampledRuns(200) },
    );
  });

  test('with bytes behind its end holds all of it, and says so unless they are zeros', async () => {
    const fixture = await readFile(
      new URL('../../fixtures/imports/gzip-with-bytes-behind-its-end.csv.gz', import.meta.url),
    );
    const bytes = Buffer.from(randomBytes(20_000).toString('hex'));
    const cases: [Buffer, string, RegExp | null][] = [
      [fixture, 'user_id,attribute_key,value\nb03@x,s,gold\n', /bytes that are no gzip/],
      [Buffer.concat([gzipSync(bytes), Buffer.from('\r\n')]), bytes.toString(), /bytes that are no gzip/],
      [
        Buffer.concat([gzipSync(bytes), gzipSync('x'), Buffer.alloc(700, 'x')]),
        `${bytes.toString()}x`,
        /bytes that are no gzip/,
      ],
      [Buffer.concat([gzipSync(bytes), Buffer.alloc(512)]), bytes.toString(), null],
      [Buffer.concat([gzipSync(bytes), gzipSync('x').subarray(0, 9)]), bytes.toString(), /cut off/],
    ];
    for (const [file, whole, defect] of cases) {
      for (const size of [1, 16 * 1024, 1e6]) {
        const { pinned, stored } = await pin(file, size);
        expect(stored.toString() === whole).toBe(true);
        expect(pinned.sourceDefect).toEqual(defect && expect.stringMatching(defect));
        expect(pinned.sourceBytes).toBe(file.length);
      }
    }
  });

  test('of a decompression bomb is refused before memory or disk are filled', async () => {
    const bomb = gzipSync(Buffer.alloc(300 * 1024 ** 2));
    const before = process.memoryUsage.rss();
    await expect(
      pinFile(files, inPieces(bomb, 64 * 1024), { ...LIMITS, decompressedBytes: 50 * 1024 ** 2 }),
    ).rejects.toMatchObject({ http: 413 });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 ** 2);
  });

  test('whose source breaks leaves nothing', async () => {
    const before = await keys();
    async function* broken() {
      yield Buffer.from('u1,plan');
      throw new Error('the caller hung up');
    }
    await expect(pinFile(files, Readable.from(broken(), { objectMode: false }), LIMITS)).rejects.toThrow('hung up');
    expect(await keys()).toEqual(before);
  });
});
