/** Decrypts exported files, into a file or to standard output. */
import { randomBytes } from 'node:crypto';
import { createReadStream, rmSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { PassThrough, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { refuse } from '../../domain/core/refusal.ts';
import { decryptStream } from '../../domain/exports/file-encryption.ts';

export type Decryption = {
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

/** Decrypts a file into another, completely or not at all: its content is authentic only once the end is checked. */
export async function decryptFile(source: string, target: string, decryption: Decryption): Promise<void> {
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

/** Decrypts to standard output. Reads the file twice, because printed content cannot be taken back. */
export async function printDecrypted(source: string, decryption: Decryption): Promise<void> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await decryptInto(source, decryption, (bytes) => pipeline(bytes, nowhere));
  const again = { ...decryption, onBytes: () => {} };
  await decryptInto(source, again, (bytes) => pipeline(bytes, decryption.stdout, { end: false }));
}

export async function sizeOf(source: string): Promise<number> {
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

/** Returns the bytes, after checking that they begin as the file's name says. */
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
