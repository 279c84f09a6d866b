import { createHash } from 'node:crypto';
import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ExportCheckpoint } from '../../store/exports/export-files.ts';
import type { SliceReader } from './slice-reader.ts';

/**
 * Number of bytes that are compressed at once. It is always the same, whatever comes out of the socket: the same rows
 * give the same bytes. Few large pieces cost zlib's thread and ours the least.
 */
const CHUNK_BYTES = 256 * 1024;

/** Level 1 is what the speed of an export depends on; its content is the same for the same input. */
const GZIP = { level: 1, chunkSize: CHUNK_BYTES, memLevel: 9 };

export type PartRules = {
  /** Beginning of each file. */
  header: Buffer | null;
  /** It ends with the slice that reaches this, before compression. */
  partBytes: number;
  /** Encodes the rows' bytes into a format that is compressed by itself; null: gzip. */
  encode: ((bytes: AsyncIterable<Buffer>) => AsyncIterable<Uint8Array>) | null;
  /** A fresh cipher; null: files are not encrypted. */
  cipher: (() => Transform) | null;
};

/** Number of rows read for a file, and where the next file begins. */
export type PartRead = { rows: number; next: ExportCheckpoint };

/** Hashes are hexadecimal; `content` is what decryption gives back. */
export type PartWritten = {
  bytes: number;
  sha256: string;
  contentBytes: number;
  contentSha256: string;
  bucketChecksum: string | null;
};

export type Upload = (bytes: AsyncIterable<Uint8Array>) => Promise<{ bytes: number; checksum: string | null }>;

/** A file that is being written: the next one may begin once it is read. */
export type Part = { read: Promise<PartRead>; written: Promise<PartWritten> };

/**
 * Writes the next file of a type that has rows left: as fast as the slowest of reading, compression and upload, and no
 * more ahead.
 */
export function startPart(slices: SliceReader, rules: PartRules, upload: Upload, signal: AbortSignal): Part {
  const { promise: read, resolve, reject } = Promise.withResolvers<PartRead>();
  const written = writePart(readPart(slices, rules, resolve), rules, upload, signal);
  written.catch(reject);
  read.catch(() => {}); // `written` tells it, too
  return { read, written };
}

async function writePart(
  rows: AsyncGenerator<Buffer>,
  { encode, cipher }: PartRules,
  upload: Upload,
  signal: AbortSignal,
): Promise<PartWritten> {
  const content = new Meter();
  const stored = new Meter();
  let uploaded: Awaited<ReturnType<Upload>> | undefined;
  const compressed = encode ? encode(rows) : rows;
  await pipeline(
    [
      compressed,
      ...(encode ? [] : [createGzip(GZIP)]),
      content.measure,
      ...(cipher ? [cipher(), stored.measure] : []),
      async (bytes: AsyncIterable<Uint8Array>) => {
        uploaded = await upload(bytes);
      },
    ] as unknown as [Readable, Transform],
    { signal },
  );
  const { bytes: contentBytes, sha256: contentSha256 } = content.result();
  return {
    ...(cipher ? stored.result() : content.result()),
    contentBytes,
    contentSha256,
    bucketChecksum: uploaded!.checksum,
  };
}

/** Header and slices in pieces of one size; tells what was read when all of it was taken. */
async function* readPart(
  slices: SliceReader,
  { header, partBytes, encode }: PartRules,
  tell: (read: PartRead) => void,
): AsyncGenerator<Buffer> {
  // gzip has done with a chunk when it asks for the next.
  const chunker = new Chunker(encode === null);
  if (header) yield* chunker.add(header);
  let rows = 0;
  do {
    const slice = slices.slice();
    let piece = await slice.next();
    for (; !piece.done; piece = await slice.next()) yield* chunker.add(piece.value);
    rows += piece.value;
  } while (chunker.bytes < partBytes && (await slices.hasRows()));
  tell({ rows, next: slices.checkpoint! });
  yield* chunker.rest();
}

/**
 * Cuts bytes into chunks of one size: each in memory of its own, or all in the same, where whoever takes one is done
 * with the last.
 */
class Chunker {
  bytes = 0;
  #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #filled = 0;
  readonly #isReused: boolean;

  constructor(isReused: boolean) {
    this.#isReused = isReused;
  }

  *add(piece: Buffer): Generator<Buffer> {
    this.bytes += piece.length;
    for (let from = 0; from < piece.length;) {
      const copied = piece.copy(this.#chunk, this.#filled, from);
      from += copied;
      this.#filled += copied;
      if (this.#filled < CHUNK_BYTES) continue;
      yield this.#chunk;
      if (!this.#isReused) this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      this.#filled = 0;
    }
  }

  *rest(): Generator<Buffer> {
    if (this.#filled > 0) yield this.#chunk.subarray(0, this.#filled);
  }
}

/** Counts and hashes what passes. */
class Meter {
  #bytes = 0;
  readonly #hash = createHash('sha256');

  readonly measure = async function* (this: Meter, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#bytes += chunk.length;
      this.#hash.update(chunk);
      yield chunk;
    }
  }.bind(this);

  result(): { bytes: number; sha256: string } {
    return { bytes: this.#bytes, sha256: this.#hash.copy().digest('hex') };
  }
}
