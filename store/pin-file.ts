import { createHash, randomUUID } from 'node:crypto';
import { finished } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { refuse } from '../domain/refusal.ts';
import type { Files } from './files.ts';
import type { PinnedFile } from './import-record.ts';

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
/** Compressed bytes given to the decompressor at a time: at most a thousandfold of it, 16 MiB, comes out at once. */
const GUNZIP_BYTES = 16 * 1024;

const GIB = 1024 ** 3;

/** The largest file as it comes, and decompressed (docs/imports.md), in bytes. */
export const FILE_LIMITS = { uploadBytes: 10 * GIB, decompressedBytes: 50 * GIB };

export type PinOptions = {
  uploadBytes: number;
  decompressedBytes: number;
  /** Told of each piece before it is stored; may refuse. */
  onStore?: (bytes: number) => void;
};

/**
 * Stores a file decompressed under a new key, with sizes and SHA-256 of both forms. Gzip is known by
 * its first bytes. Of a gzip file that is cut off or corrupt, what came out before is stored, and
 * `sourceDefect` says what happened. Refuses files beyond the limits; then nothing is left.
 */
export async function pinFile(files: Files, source: AsyncIterable<Uint8Array>, options: PinOptions): Promise<PinnedFile> {
  const fileKey = `imports/${randomUUID()}.csv`;
  const came = tally();
  const stored = tally();
  const state: SourceState = { isGzip: false, defect: null };
  const pieces = decompressed(measured(source, came, options.uploadBytes), state);
  await files.put(fileKey, limited(pieces, stored, options));
  return {
    fileKey,
    fileBytes: stored.bytes,
    fileSha256: stored.hash.digest(),
    sourceBytes: came.bytes,
    sourceSha256: came.hash.digest(),
    sourceGzip: state.isGzip,
    sourceDefect: state.defect,
  };
}

type SourceState = { isGzip: boolean; defect: string | null };

function tally() {
  return { bytes: 0, hash: createHash('sha256') };
}

type Tally = ReturnType<typeof tally>;

async function* measured(source: AsyncIterable<Uint8Array>, came: Tally, most: number): AsyncGenerator<Buffer> {
  for await (const bytes of source) {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    came.bytes += piece.length;
    if (came.bytes > most) refuse(413, 'payload_too_large', `file: must have at most ${most} bytes`);
    came.hash.update(piece);
    yield piece;
  }
}

async function* limited(
  pieces: AsyncIterable<Buffer>, stored: Tally, { decompressedBytes, onStore }: PinOptions,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    stored.bytes += piece.length;
    if (stored.bytes > decompressedBytes) {
      refuse(413, 'payload_too_large', `file: must have at most ${decompressedBytes} bytes when decompressed`);
    }
    onStore?.(piece.length);
    stored.hash.update(piece);
    yield piece;
  }
}

async function* decompressed(pieces: AsyncGenerator<Buffer>, state: SourceState): AsyncGenerator<Buffer> {
  const head = await readHead(pieces);
  state.isGzip = head.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC);
  if (state.isGzip) return yield* gunzipped(head, pieces, state);
  if (head.length > 0) yield head;
  yield* pieces;
}

/** Enough of the beginning to know gzip by, however small the pieces come. */
async function readHead(pieces: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < GZIP_MAGIC.length) {
    const { value, done } = await pieces.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  return head;
}

/** Once the file proves defective the rest is read for its checksum alone. */
async function* gunzipped(head: Buffer, pieces: AsyncGenerator<Buffer>, state: SourceState): AsyncGenerator<Buffer> {
  const out: Buffer[] = [];
  const gunzip = createGunzip().on('data', (piece: Buffer) => out.push(piece));
  try {
    for (let piece: Buffer | undefined = head; piece; piece = (await pieces.next()).value) {
      for (let at = 0; at < piece.length && !state.defect; at += GUNZIP_BYTES) {
        state.defect = await writeTo(gunzip, piece.subarray(at, at + GUNZIP_BYTES));
        yield* out.splice(0);
      }
    }
    state.defect ??= await endOf(gunzip);
    yield* out.splice(0);
  } finally {
    gunzip.destroy();
  }
}

/** Resolves once all that comes out of this input has come out. */
function writeTo(gunzip: Gunzip, input: Buffer): Promise<string | null> {
  return new Promise((resolve) => {
    const settle = (error?: Error | null) => {
      gunzip.off('error', settle);
      resolve(error ? defectOf(error) : null);
    };
    gunzip.once('error', settle);       // a write that fails is not called back
    gunzip.write(input, settle);
  });
}

function endOf(gunzip: Gunzip): Promise<string | null> {
  return new Promise((resolve) => {
    finished(gunzip, (error) => resolve(error ? defectOf(error) : null));
    gunzip.end();
  });
}

function defectOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR'
    ? 'the gzip file is cut off: its end is missing'
    : 'the gzip file is corrupt: it can be decompressed only in part';
}
