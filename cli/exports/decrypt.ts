/** The command `millrace decrypt`. */
import { randomBytes } from 'node:crypto';
import { createReadStream, rmSync } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import progress, { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { ENCRYPTION_TYPES, parseEncryptionType } from '../../domain/exports/encryption-type.ts';
import { decryptStream, encryptionKeyError } from '../../domain/exports/file-encryption.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { readText } from '../core/read-input.ts';

type Options = { type: string; keyFile?: string; out?: string; gunzip?: true; force?: true };

const STDOUT = '-';

export const addDecryptCommand = (program: Command, run: Run) =>
  program
    .command('decrypt')
    .description('decrypt exported files without a server; the key is in a file, or in MILLRACE_EXPORT_KEY')
    .argument('<file...>', 'as the bucket has them')
    .requiredOption('--type <type>', `the exporter's encryption_type: ${ENCRYPTION_TYPES.join(', ')}`)
    .option('--key-file <file>', 'contains the key as the exporter has it: text, or hexadecimal digits')
    .option(
      '--out <path>',
      'a file, a folder (made if need be), or - for standard output; else beside each file, without .enc',
    )
    .option('--gunzip', 'uncompress, too')
    .option('--force', 'overwrite existing files')
    .action((files: string[], options: Options) => run((context) => decrypt(context, files, options)));

async function decrypt(
  { env, stdin, stdout, stderr, console }: CommandContext,
  files: string[],
  options: Options,
): Promise<number> {
  const { type, gunzip = false } = options;
  if (!parseEncryptionType(type)) refuse(400, 'bad_type', `--type is one of ${ENCRYPTION_TYPES.join(', ')}.`);
  const key = await readExportKey({ env, stdin }, type, options.keyFile);
  const targets = await targetsOf(files, options);
  const bar = new SingleBar(
    { format: '{bar} {percentage}% | {file}', gracefulExit: false, stream: stderr },
    progress.Presets.legacy,
  );
  const sizes = await Promise.allSettled(files.map(sizeOf));
  bar.start(
    sizes.reduce((sum, size) => sum + (size.status === 'fulfilled' ? size.value : 0), 0),
    0,
    { file: '' },
  );
  const decryption = { type, key, gunzip, stdout, onBytes: (bytes: number) => bar.increment(bytes) };
  const errors: string[] = [];
  for (const [nth, file] of files.entries()) {
    bar.update({ file: basename(file) });
    const error = await errorOf(decryptOne(file, targets[nth]!, decryption, options.force === true));
    if (error !== null) errors.push(`${file}: ${error}`);
  }
  bar.stop();
  for (const error of errors) console.error(error);
  if (errors.length > 0 && files.length > 1)
    console.error(`${errors.length} of ${files.length} files were not decrypted.`);
  return errors.length > 0 ? 1 : 0;
}

async function decryptOne(file: string, target: string, decryption: Decryption, isForced: boolean): Promise<void> {
  if (target === STDOUT) return printDecrypted(file, decryption);
  await sizeOf(file);
  if (!isForced && (await isThere(target))) {
    refuse(409, 'taken', `${target} is there already: --force writes over it.`);
  }
  return decryptFile(file, target, decryption);
}

async function targetsOf(files: string[], { out, gunzip }: Options): Promise<string[]> {
  const isFolder = out !== undefined && (await isFolderOrMade(out, files));
  if (out !== undefined && !isFolder) {
    if (files.length > 1) refuse(400, 'bad_out', `--out ${out} is no folder, and there is more than one file.`);
    return [out];
  }
  const targets = files.map((file) => join(isFolder ? out : dirname(file), nameWithout(file, gunzip)));
  const twice = targets.find((target, nth) => targets.indexOf(target) !== nth);
  return twice === undefined
    ? targets
    : refuse(400, 'bad_out', `Two files would become ${twice}: decrypt them one by one.`);
}

async function isFolderOrMade(out: string, files: string[]): Promise<boolean> {
  const found = await stat(out).catch(() => null);
  if (found || out === STDOUT || (files.length === 1 && !out.endsWith('/'))) return found?.isDirectory() === true;
  await mkdir(out, { recursive: true }).catch(({ code }: NodeJS.ErrnoException) =>
    refuse(400, 'bad_out', `--out ${out} cannot be made (${code}).`),
  );
  return true;
}

function nameWithout(file: string, gunzip: true | undefined): string {
  const name = basename(file);
  const bare = name.replace(/\.enc$/, '').replace(gunzip ? /\.gz$/ : /$/, '');
  return bare === name
    ? refuse(400, 'bad_out', `${file} does not end in .enc: name the file to write by --out.`)
    : bare;
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

async function errorOf(work: Promise<void>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

/** Reads the key from a file or the environment: other users can read a command line. */
async function readExportKey(
  io: Pick<ProcessIo, 'env' | 'stdin'>,
  type: string,
  keyFile: string | undefined,
): Promise<string> {
  const key = keyFile === undefined ? io.env.MILLRACE_EXPORT_KEY : await readKeyFile(io, type, keyFile);
  if (key === undefined)
    return refuse(400, 'no_key', 'There is no key: name its file by --key-file, or set MILLRACE_EXPORT_KEY.');
  const error = encryptionKeyError(type, key);
  const from = keyFile === undefined ? 'MILLRACE_EXPORT_KEY' : keyFile;
  return error === undefined ? key : refuse(400, 'bad_key', `${from}: ${error}.`);
}

/** Reads a key file without the line end that most editors add. */
async function readKeyFile(io: Pick<ProcessIo, 'stdin'>, type: string, path: string): Promise<string> {
  const text = await readText(io, path);
  return encryptionKeyError(type, text) === undefined ? text : text.replace(/\r?\n$/, '');
}

type Decryption = {
  type: string;
  key: string;
  gunzip: boolean;
  stdout: NodeJS.WritableStream;
  onBytes: (bytes: number) => void;
};
type Bytes = AsyncIterable<Buffer>;

const READ_BYTES = 256 * 1024;
/** Exit status of a shell for a command that Ctrl-C ended. */
const INTERRUPTED = 130;
/** First bytes of a file by its name: other bytes mean a wrong key or type. */
const BEGINNINGS: [name: RegExp, what: string, beginning: Buffer][] = [
  [/\.gz(\.enc)?$/, 'gzip', Buffer.from([0x1f, 0x8b])],
  [/\.parquet(\.enc)?$/, 'Parquet', Buffer.from('PAR1')],
];

/** Decrypts a file completely or not at all: its content is authentic only once its end is checked. */
async function decryptFile(source: string, target: string, decryption: Decryption): Promise<void> {
  const unfinished = `${target}.${randomBytes(4).toString('hex')}.unfinished`;
  const leave = () => {
    rmSync(unfinished, { force: true });
    process.exit(INTERRUPTED);
  };
  process.once('SIGINT', leave);
  try {
    await decryptInto(source, decryption, async (bytes) => {
      const file = await open(unfinished, 'wx', 0o600).catch((error) => refuseUnwritable(target, error));
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
    });
    await rename(unfinished, target).catch((error) => refuseUnwritable(target, error));
  } finally {
    process.off('SIGINT', leave);
    await rm(unfinished, { force: true });
  }
}

/** Reads the file twice, because printed content cannot be taken back. */
async function printDecrypted(source: string, decryption: Decryption): Promise<void> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await decryptInto(source, decryption, (bytes) => pipeline(bytes, nowhere));
  const again = { ...decryption, onBytes: () => {} };
  await decryptInto(source, again, (bytes) => pipeline(bytes, decryption.stdout, { end: false }));
}

async function sizeOf(source: string): Promise<number> {
  const { size } = await stat(source).catch((error: NodeJS.ErrnoException) => refuseUnreadable(source, error));
  return size;
}

async function decryptInto(
  source: string,
  decryption: Decryption,
  take: (bytes: Bytes) => Promise<void>,
): Promise<void> {
  const { type, key, gunzip, onBytes } = decryption;
  const uncompressed = gunzip ? createGunzip({ chunkSize: READ_BYTES }) : new PassThrough();
  await pipeline(
    readCounted(source, onBytes),
    decryptStream(type, key),
    (bytes: Bytes) => withBeginning(source, bytes),
    uncompressed,
    take,
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code?.startsWith('Z_')) refuse(400, 'not_gunzipped', gunzipError(error.code));
    if (error.syscall !== undefined) refuseUnreadable(source, error);
    throw error;
  });
}

async function* readCounted(source: string, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(source, { highWaterMark: READ_BYTES }) as Bytes) {
    onBytes(chunk.length);
    yield chunk;
  }
}

async function* withBeginning(source: string, bytes: Bytes): AsyncGenerator<Buffer> {
  const promised = BEGINNINGS.find(([name]) => name.test(source));
  let start = Buffer.alloc(0);
  let isKnown = promised === undefined;
  for await (const chunk of bytes) {
    if (isKnown) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < promised![2].length) continue;
    checkBeginning(promised!, start);
    isKnown = true;
    yield start;
  }
  if (!isKnown) checkBeginning(promised!, start);
}

function checkBeginning([, what, beginning]: (typeof BEGINNINGS)[number], start: Buffer): void {
  if (start.subarray(0, beginning.length).equals(beginning)) return;
  refuse(
    400,
    'not_decrypted',
    `The decrypted content is no ${what}, as the file's name says: not this key or type, or the file was changed.`,
  );
}

function gunzipError(code: string): string {
  return code === 'Z_BUF_ERROR'
    ? 'The file is cut off: what was compressed has no end.'
    : 'The decrypted content cannot be gunzipped: not this key or type, or the file was changed.';
}

function refuseUnreadable(path: string, { code }: NodeJS.ErrnoException): never {
  return refuse(400, 'unreadable', `It cannot be read (${code}): ${path}`);
}

function refuseUnwritable(path: string, { code }: NodeJS.ErrnoException): never {
  return refuse(400, 'unwritable', `${path} cannot be written (${code}).`);
}
