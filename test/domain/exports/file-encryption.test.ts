import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Refusal } from '../../../domain/core/refusal.ts';
import { ENCRYPTION_TYPES, parseEncryptionType } from '../../../domain/exports/encryption-type.ts';
import { decryptStream, encryptionKeyError, encryptionStream } from '../../../domain/exports/file-encryption.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const types = fc.constantFrom(...ENCRYPTION_TYPES);
const contents = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const cuts = fc.array(fc.nat(300), { maxLength: 8 });
const bytesOf = (type: string) => parseEncryptionType(type)!.bits / 8;
const keyOf = (type: string) => randomBytes(bytesOf(type)).toString('hex');
const ivOf = (type: string) => (type.endsWith('GCM') ? 12 : 16);

/** Through a stream in pieces cut at these places: empty ones, too. */
async function through(stream: NodeJS.ReadWriteStream, bytes: Buffer, at: number[] = []): Promise<Buffer> {
  const places = [0, ...at.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  // Copies, wiped once they are taken: a stream must not keep memory that is not its own.
  const pieces = places.slice(1).map((end, nth) => Buffer.from(bytes.subarray(places[nth], end)));
  const out: Buffer[] = [];
  await pipeline(
    async function* () {
      for (const piece of pieces) {
        yield piece;
        piece.fill(0);
      }
    },
    stream,
    async function (read) {
      for await (const piece of read) out.push(piece as Buffer);
    },
  );
  return Buffer.concat(out);
}

const encrypt = (type: string, key: string, bytes: Buffer, at?: number[]) =>
  through(encryptionStream(type, key), bytes, at);
const decrypt = (type: string, key: string, bytes: Buffer, at?: number[]) =>
  through(decryptStream(type, key), bytes, at);

function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  return work.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: Refusal) => error,
  );
}

describe('a file', () => {
  it('comes back as it was, whatever its type and however the bytes come in', () =>
    fc.assert(
      fc.asyncProperty(types, contents, cuts, cuts, async (type, content, there, back) => {
        const key = keyOf(type);
        const file = await encrypt(type, key, content, there);
        expect(await decrypt(type.toLowerCase(), key, file, back)).toEqual(content);
      }),
      { numRuns: sampledRuns(300) },
    ));

  it.each(ENCRYPTION_TYPES)('of %s that is long comes back, too', async (type) => {
    const content = randomBytes(3_000_001);
    const key = randomBytes(bytesOf(type)).toString('hex').slice(0, bytesOf(type));
    const file = await encrypt(type, key, content);
    const back = await through(decryptStream(type, key), file, [1, 2, 13, 1_000_000]);
    expect(back.equals(content)).toBe(true); // toEqual takes seconds for as many bytes
  });

  it('begins with an IV of its own, and is as long as its type has it', () =>
    fc.assert(
      fc.asyncProperty(types, contents, async (type, content) => {
        const key = keyOf(type);
        const [one, other] = await Promise.all([encrypt(type, key, content), encrypt(type, key, content)]);
        const { mode } = parseEncryptionType(type)!;
        const ciphertext = mode === 'CBC' ? 16 * (Math.floor(content.length / 16) + 1) : content.length;
        expect(one.length).toBe(ivOf(type) + ciphertext + (mode === 'GCM' ? 16 : 0));
        expect(one.subarray(0, ivOf(type))).not.toEqual(other.subarray(0, ivOf(type)));
      }),
    ));

  it('that was cut off is refused, where its type can tell', () =>
    fc.assert(
      fc.asyncProperty(
        types.filter((type) => !type.endsWith('CTR')),
        contents,
        fc.nat(),
        async (type, content, at) => {
          const key = keyOf(type);
          const file = await encrypt(type, key, content);
          const short = file.subarray(0, at % file.length);
          // CBC's padding may look right by chance, once in 255 times where whole blocks are left.
          fc.pre(type.endsWith('GCM') || short.length % 16 !== 0 || short.length < 32);
          const { message } = await refusalOf(decrypt(type, key, short));
          expect(message).toMatch(/cut off/);
        },
      ),
    ));

  it('of CTR that lacks even its IV is refused', async () => {
    const { message } = await refusalOf(decrypt('AES-128-CTR', keyOf('AES-128-CTR'), Buffer.alloc(15)));
    expect(message).toBe('The file is cut off: it has 15 bytes, and one of AES-128-CTR has 16 at least.');
  });

  it('of GCM that was changed anywhere is refused', () =>
    fc.assert(
      fc.asyncProperty(
        types.filter((type) => type.endsWith('GCM')),
        contents,
        fc.nat(),
        async (type, content, at) => {
          const key = keyOf(type);
          const file = await encrypt(type, key, content);
          file[at % file.length]! ^= 1 << (at % 8);
          const { message } = await refusalOf(decrypt(type, key, file));
          expect(message).toMatch(/^Not this key or type, or the file was changed or cut off: its tag/);
        },
      ),
    ));

  it('of CBC and GCM is not opened by another key', async () => {
    const file = await encrypt('AES-256-GCM', keyOf('AES-256-GCM'), Buffer.from('rows'));
    expect((await refusalOf(decrypt('AES-256-GCM', keyOf('AES-256-GCM'), file))).message).toMatch(
      /its tag does not match/,
    );
    // Of 20 other keys not each can meet a padding that looks right.
    const cbc = await encrypt('AES-256-CBC', 'k'.repeat(32), Buffer.from('rows'));
    const opened = await Promise.allSettled(
      Array.from({ length: 20 }, () => decrypt('AES-256-CBC', keyOf('AES-256-CBC'), cbc)),
    );
    const refused = opened.filter((one) => one.status === 'rejected').map(({ reason }) => (reason as Refusal).message);
    expect(refused).toContain('Not this key or type, or the file was changed or cut off: its padding is none of CBC.');
  });

  it('asks for no more than its reader takes', async () => {
    let asked = 0;
    const source = Readable.from(
      (function* () {
        for (; asked < 1_000; asked += 1) yield Buffer.alloc(65_536);
      })(),
    );
    const encrypted = source.pipe(encryptionStream('AES-256-CTR', keyOf('AES-256-CTR')));
    for await (const piece of encrypted) {
      expect((piece as Buffer).length).toBeGreaterThan(0);
      break;
    }
    expect(asked).toBeLessThan(100);
  });
});

describe('a type', () => {
  it.each([
    ['AES-192-CBC', { bits: 192, mode: 'CBC' }],
    ['aes-256-gcm', { bits: 256, mode: 'GCM' }],
    ['Aes-128-Ctr', { bits: 128, mode: 'CTR' }],
    ['AES-512-CBC', undefined],
    ['AES256CBC', undefined],
    ['AES-256-ECB', undefined],
    ['', undefined],
    ['AES-256-CBC ', undefined],
  ])('%j means %j', (name, meant) => {
    expect(parseEncryptionType(name)).toEqual(meant);
  });
});

describe('a key', () => {
  it('fits as text of its length, or as twice as many hexadecimal digits, and as nothing else', () => {
    fc.assert(
      fc.property(types, fc.string({ unit: 'grapheme', maxLength: 70 }), (type, text) => {
        const bytes = bytesOf(type);
        const length = Buffer.byteLength(text);
        const fits = length === bytes || (length === bytes * 2 && /^[0-9a-fA-F]*$/.test(text));
        expect(encryptionKeyError(type, text) === undefined).toBe(fits);
      }),
    );
  });

  it('of text and the same in hexadecimal digits are one', () =>
    fc.assert(
      fc.asyncProperty(types, contents, async (type, content) => {
        const text = 'é'.repeat(bytesOf(type) / 2);
        const file = await encrypt(type, text, content);
        expect(await decrypt(type, Buffer.from(text).toString('hex').toUpperCase(), file)).toEqual(content);
      }),
      { numRuns: sampledRuns(20) },
    ));

  it('that does not fit is refused with the lengths that would, and is not quoted', () => {
    const secret = 'sesame';
    expect(encryptionKeyError('aes-192-cbc', secret)).toBe(
      'AES-192-CBC needs a key of exactly 24 bytes of text, or of 48 hexadecimal digits; this one has 6 bytes',
    );
    expect(encryptionKeyError('AES-128-GCM', 'g'.repeat(32))).toMatch(
      /this one has 32 bytes that are not all hexadecimal digits$/,
    );
    expect(encryptionKeyError('AES', secret)).toBe(`the encryption type is one of ${ENCRYPTION_TYPES.join(', ')}`);
    expect(() => encryptionStream('AES-128-CBC', secret)).toThrow(/^AES-128-CBC needs a key/);
    expect(() => decryptStream('AES-128-CBC', secret)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(secret) }),
    );
  });
});
