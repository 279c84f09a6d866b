/** Stores a file of an import: decompressed, measured and with a checksum. */
import { createHash, randomUUID } from 'node:crypto';
import { gunzip, MAX_DECOMPRESSED_BYTES } from '../../domain/core/gunzip.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { SOURCE_DEFECTS } from '../../domain/imports/source-defect.ts';
import type { Row } from '../core/camel-row.ts';
import type { Files } from '../core/files.ts';

export type StoredFile = { fileKey: string; fileBytes: number; fileSha256: Buffer };

export type PinnedFile = StoredFile &
  Row<'imports', 'sourceDefect', { sourceBytes: number; sourceSha256: Buffer; sourceGzip: boolean }>;

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const GIB = 1024 ** 3;

/** Maximum bytes of a file as it comes, and decompressed (docs/imports.md). */
export const FILE_LIMITS = { uploadBytes: 10 * GIB, decompressedBytes: MAX_DECOMPRESSED_BYTES };

export type PinOptions = {
  uploadBytes: number;
  decompressedBytes: number;
  /** Stops between two pieces of decompressed output, with the signal's reason. */
  signal?: AbortSignal;
  onStore?: (bytes: number) => void;
};

/**
 * Stores a file decompressed under a new key, with sizes and SHA-256 of both forms. Recognizes gzip by its first bytes.
 * For gzip with a defect it stores everything before it; `sourceDefect` describes it, and an import reads no row of a
 * damaged file (`isDamage`). Refuses files beyond the limits, and then leaves nothing.
 */
export async function pinFile(
  files: Files,
  source: AsyncIterable<Uint8Array>,
  options: PinOptions,
): Promise<PinnedFile> {
  const came = tally();
  const state: SourceState = { isGzip: false, defect: null };
  const stored = await storeFile(
    files,
    decompressed(measured(source, came, options.uploadBytes), state, options),
    options,
  );
  return {
    ...stored,
    sourceBytes: came.bytes,
    sourceSha256: came.hash.digest(),
    sourceGzip: state.isGzip,
    sourceDefect: state.defect,
  };
}

export async function storeFile(
  files: Files,
  pieces: AsyncIterable<Buffer>,
  options: Pick<PinOptions, 'onStore'> = {},
): Promise<StoredFile> {
  const fileKey = `imports/${randomUUID()}.csv`;
  const stored = tally();
  await files.put(fileKey, tallied(pieces, stored, options));
  return { fileKey, fileBytes: stored.bytes, fileSha256: stored.hash.digest() };
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

async function* tallied(
  pieces: AsyncIterable<Buffer>,
  stored: Tally,
  { onStore }: Pick<PinOptions, 'onStore'>,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    stored.bytes += piece.length;
    onStore?.(piece.length);
    stored.hash.update(piece);
    yield piece;
  }
}

async function* decompressed(
  pieces: AsyncGenerator<Buffer>,
  state: SourceState,
  { decompressedBytes: maxBytes, signal }: PinOptions,
): AsyncGenerator<Buffer> {
  const head = await readHead(pieces);
  const whole = behindHead(head, pieces);
  state.isGzip = head.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC);
  if (!state.isGzip) return yield* whole;
  const defect = yield* gunzip(whole, { maxBytes, signal });
  if (defect === 'too_large')
    refuse(413, 'payload_too_large', `file: must have at most ${maxBytes} bytes when decompressed`);
  if (!defect) return;
  state.defect = SOURCE_DEFECTS[defect];
  await readForChecksum(pieces);
}

async function readForChecksum(pieces: AsyncGenerator<Buffer>): Promise<void> {
  while (!(await pieces.next()).done);
}

/** Reads enough of the beginning to recognise gzip, however small the pieces are. */
async function readHead(pieces: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < GZIP_MAGIC.length) {
    const { value, done } = await pieces.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  return head;
}

async function* behindHead(head: Buffer, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
}
