import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { ENCRYPTION_TYPES, parseEncryptionType } from '../../../domain/exports/encryption-type.ts';
import { encryptionStream } from '../../../domain/exports/file-encryption.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { codeOf, documented } from '../../harness/core/documented.ts';
import { pythonProgram } from '../../harness/core/python-program.ts';
import { CRYPTOGRAPHY, runDocumented } from '../core/run-documented.ts';
import { type Outcome, runMillrace } from '../core/run-millrace.ts';

const CSV = Buffer.from(
  Array.from({ length: 5_000 }, (_, row) => `evt_${row},opened,${'é'.repeat(row % 7)}\n`).join(''),
);
const GZIPPED = gzipSync(CSV);
const FILE = 'logs-0001.csv.gz.enc';

let root: string;
let folder: string;

beforeEach(async () => {
  if (!root) {
    root = await mkdtemp(join(tmpdir(), 'millrace-decrypt-'));
    onFileEnd(() => rm(root, { recursive: true }));
  }
  folder = await mkdtemp(join(root, 'test-'));
});

const path = (name: string) => join(folder, name);
const keyOf = (type: string) => randomBytes(parseEncryptionType(type)!.bits / 16).toString('hex');

async function encrypted(type: string, key: string, name = FILE, content: Buffer = GZIPPED): Promise<Buffer> {
  const bytes = await buffer(Readable.from([content], { objectMode: false }).pipe(encryptionStream(type, key)));
  await writeFile(path(name), bytes);
  return bytes;
}

const millrace = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  runMillrace(['decrypt', ...args], { url: 'http://127.0.0.1:1', token: '', env });

describe('millrace decrypt', () => {
  it.each(ENCRYPTION_TYPES)('writes what a file of %s holds, with the key of a file', async (type) => {
    const key = keyOf(type);
    await encrypted(type, key);
    await writeFile(path('key'), `${key}\n`);
    expect(await millrace([path(FILE), '--type', type, '--key-file', path('key')])).toEqual({
      status: 0,
      out: '',
      err: '',
    });
    expect((await readFile(path('logs-0001.csv.gz'))).equals(GZIPPED)).toBe(true);
  });

  it('takes the key from the environment, uncompresses, and writes into a folder, which it makes, readable by its user alone', async () => {
    const key = Buffer.from(keyOf('AES-256-CTR')).toString('hex');
    await encrypted('AES-256-CTR', key);
    await encrypted('AES-256-CTR', key, 'devices-0001.csv.gz.enc');
    const args = [
      path(FILE),
      path('devices-0001.csv.gz.enc'),
      '--type',
      'aes-256-ctr',
      '--gunzip',
      '--out',
      path('out'),
    ];
    expect(await millrace(args, { MILLRACE_EXPORT_KEY: key })).toMatchObject({ status: 0, err: '' });
    expect((await readdir(path('out'))).toSorted()).toEqual(['devices-0001.csv', 'logs-0001.csv']);
    expect((await readFile(path('out/logs-0001.csv'))).equals(CSV)).toBe(true);
    expect((await stat(path('out/logs-0001.csv'))).mode & 0o777).toBe(0o600);
  });

  it('prints to standard output, and nothing of a file that was changed', async () => {
    const key = keyOf('AES-256-GCM');
    const bytes = await encrypted('AES-256-GCM', key);
    const print = () =>
      millrace([path(FILE), '--type', 'AES-256-GCM', '--gunzip', '--out', '-'], { MILLRACE_EXPORT_KEY: key });
    expect(await print()).toEqual({ status: 0, out: CSV.toString(), err: '' });
    bytes[bytes.length - 20]! ^= 1;
    await writeFile(path(FILE), bytes);
    const { status, out, err } = await print();
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(err).toMatch(/was changed/);
  });

  it('leaves nothing of a file that was changed or cut off, and says which it is', async () => {
    const key = keyOf('AES-256-GCM');
    const bytes = await encrypted('AES-256-GCM', key);
    await encrypted('AES-256-GCM', key, 'whole-0001.csv.gz.enc');
    await writeFile(path('short-0001.csv.gz.enc'), bytes.subarray(0, 20));
    bytes[bytes.length - 1]! ^= 1;
    await writeFile(path(FILE), bytes);
    const files = [FILE, 'short-0001.csv.gz.enc', 'gone-0001.csv.gz.enc', 'whole-0001.csv.gz.enc'].map(path);
    const { status, err } = await millrace([...files, '--type', 'AES-256-GCM'], { MILLRACE_EXPORT_KEY: key });
    expect(status).toBe(1);
    expect(err.trim().split('\n')).toEqual([
      `${path(FILE)}: Not this key or type, or the file was changed or cut off: its tag does not match. Nothing of it is to be used.`,
      expect.stringMatching(
        /short-0001.csv.gz.enc: The file is cut off: it has 20 bytes, and one of AES-256-GCM has 28 at least\.$/,
      ),
      expect.stringMatching(/gone-0001.csv.gz.enc: It cannot be read \(ENOENT\)/),
      '3 of 4 files were not decrypted.',
    ]);
    expect((await readdir(folder)).filter((name) => !name.endsWith('.enc'))).toEqual(['whole-0001.csv.gz']);
  });

  it.each(['AES-128-CTR', 'AES-128-CBC'])('says that a key is another by what comes out of %s', async (type) => {
    await encrypted(type, keyOf(type));
    const { status, err } = await millrace([path(FILE), '--type', type], { MILLRACE_EXPORT_KEY: keyOf(type) });
    expect(status).toBe(1);
    expect(err).toMatch(/not this key or type/i);
    expect(await readdir(folder)).toEqual([FILE]);
  });

  it('says that what was compressed is cut off', async () => {
    const key = keyOf('AES-256-CTR');
    const bytes = await encrypted('AES-256-CTR', key);
    await writeFile(path(FILE), bytes.subarray(0, -100));
    const { err } = await millrace([path(FILE), '--type', 'AES-256-CTR', '--gunzip'], { MILLRACE_EXPORT_KEY: key });
    expect(err).toBe(`${path(FILE)}: The file is cut off: what was compressed has no end.\n`);
  });

  it('writes over nothing unless it is told to', async () => {
    const key = keyOf('AES-128-CBC');
    await encrypted('AES-128-CBC', key);
    await writeFile(path('logs-0001.csv.gz'), 'mine');
    const args = [path(FILE), '--type', 'AES-128-CBC'];
    const { status, err } = await millrace(args, { MILLRACE_EXPORT_KEY: key });
    expect({ status, err }).toEqual({
      status: 1,
      err: `${path(FILE)}: ${path('logs-0001.csv.gz')} is there already: --force writes over it.\n`,
    });
    expect(await readFile(path('logs-0001.csv.gz'), 'utf8')).toBe('mine');
    expect(await millrace([...args, '--force'], { MILLRACE_EXPORT_KEY: key })).toMatchObject({ status: 0 });
    expect((await readFile(path('logs-0001.csv.gz'))).equals(GZIPPED)).toBe(true);
  });

  it('refuses a key that does not fit, without quoting it, and tells where a key may be', async () => {
    await encrypted('AES-256-CBC', keyOf('AES-256-CBC'));
    const args = [path(FILE), '--type', 'AES-256-CBC'];
    const { status, err } = await millrace(args, { MILLRACE_EXPORT_KEY: 'sesame' });
    expect({ status, err }).toEqual({
      status: 1,
      err: 'MILLRACE_EXPORT_KEY: AES-256-CBC needs a key of exactly 32 bytes of text, or of 64 hexadecimal digits; this one has 6 bytes.\n',
    });
    expect((await millrace(args)).err).toBe(
      'There is no key: name its file by --key-file, or set MILLRACE_EXPORT_KEY.\n',
    );
    expect((await millrace([...args, '--key-file', path('none')])).err).toBe(
      `${path('none')} cannot be read (ENOENT).\n`,
    );
    expect((await millrace([path(FILE), '--type', 'AES'])).err).toMatch(/^--type is one of AES-128-CBC, /);
  });

  it('takes no two files for one, and none that it could not name', async () => {
    const key = keyOf('AES-128-CBC');
    const env = { MILLRACE_EXPORT_KEY: key };
    await encrypted('AES-128-CBC', key);
    expect((await millrace([path(FILE), path(FILE), '--type', 'AES-128-CBC'], env)).err).toMatch(
      /^Two files would become /,
    );
    expect((await millrace([path('x.csv'), '--type', 'AES-128-CBC'], env)).err).toMatch(
      /does not end in \.enc: name the file/,
    );
    expect((await millrace([path(FILE), path(FILE), '--type', 'AES-128-CBC', '--out', '-'], env)).err).toMatch(
      /^--out - is no folder/,
    );
    const inFile = await millrace([path(FILE), '--type', 'AES-128-CBC', '--out', path(`${FILE}/in/`)], env);
    expect(inFile.err).toMatch(/cannot be made \(ENOTDIR\)/);
  });
});

describe('the docs', async () => {
  const pieces = await documented('exports.md');
  const cryptography = await pythonProgram(CRYPTOGRAPHY);

  const shell = (chapter: string, holding = '') =>
    codeOf(pieces, 'sh', chapter).filter((code) => code.includes(holding));

  const sh = (code: string) => runDocumented(code, folder, cryptography);
  const csv = (name = 'logs-0001.csv') => readFile(path(name));

  beforeEach(async () => {});

  async function prepare(type: string, key = keyOf(type)): Promise<void> {
    await encrypted(type, key);
    await writeFile(path('export.key'), `${key}\n`);
    await writeFile(path('export.hex'), `${Buffer.from(key).toString('hex')}\n`);
  }

  const commands = shell('Decrypting: By command');
  it('have three lines with millrace decrypt', () => {
    expect(commands).toHaveLength(3);
  });

  it.each(commands)('have a line that works: %s', async (line) => {
    await prepare('AES-256-GCM');
    const out = await sh(line);
    if (line.includes('head -n 2')) expect(out).toBe(CSV.toString().split('\n', 2).join('\n') + '\n');
    else if (line.includes('decrypted/')) expect((await csv('decrypted/logs-0001.csv')).equals(CSV)).toBe(true);
    else expect((await csv('logs-0001.csv.gz')).equals(GZIPPED)).toBe(true);
  });

  describe.each(['CBC', 'CTR'])('with openssl, for %s', (mode) => {
    const [line] = shell('Decrypting: With openssl', `-${mode.toLowerCase()} `);
    const keys = shell('Decrypting: With openssl', 'KEY=');

    it.each([128, 192, 256])('have lines that decrypt AES-%d, whichever the key is written in', async (bits) => {
      const cipher = `-aes-256-${mode.toLowerCase()}`;
      expect(line).toContain(cipher);
      expect(keys).toHaveLength(2);
      await prepare(`AES-${bits}-${mode}`);
      for (const key of keys) {
        await rm(path('logs-0001.csv'), { force: true });
        await sh(`${key}\n${line!.replace(cipher, `-aes-${bits}-${mode.toLowerCase()}`)}`);
        expect((await csv()).equals(CSV)).toBe(true);
      }
    });
  });

  describe.skipIf(cryptography === null)('with Python', () => {
    const [line] = shell('Decrypting: With Python');
    const [recipe] = codeOf(pieces, 'python', 'Decrypting: With Python');
    const run = (type: string) => sh(line!.replace('AES-256-GCM', type));

    beforeEach(() => writeFile(path('decrypt.py'), recipe!));

    it.each(ENCRYPTION_TYPES)('have a recipe that decrypts %s', async (type) => {
      expect(line).toContain('AES-256-GCM');
      await prepare(type);
      await run(type);
      expect((await csv('logs-0001.csv.gz')).equals(GZIPPED)).toBe(true);
      const hex = await readFile(path('export.hex'), 'utf8');
      await writeFile(path('export.key'), hex);
      await run(type);
      expect((await csv('logs-0001.csv.gz')).equals(GZIPPED)).toBe(true);
    });

    it('have a recipe that leaves no file that was changed', async () => {
      await prepare('AES-256-GCM');
      const bytes = await readFile(path(FILE));
      bytes[30]! ^= 1;
      await writeFile(path(FILE), bytes);
      await expect(run('AES-256-GCM')).rejects.toThrow('InvalidTag');
      expect(await readdir(folder)).not.toContain('logs-0001.csv.gz');
    });
  });
});
