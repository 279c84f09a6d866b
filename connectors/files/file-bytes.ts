import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { sourceRefusal } from '../source-refusal.ts';

/** A file that was opened: its bytes are to be read, or ended. */
export type FileBytes = {
  /** Where in the file its bytes begin. */
  from: number;
  /** Names these very bytes, so that reading may go on in the middle; null where the source names no such thing. */
  version: string | null;
  /** Differs when the file changed; null where the source tells nothing. */
  mark: string | null;
  chunks: AsyncIterable<Buffer>;
  end(): Promise<void>;
};

/** Opens a file at its start, or behind `from` bytes of `version`; where that can't be had, at the start again. */
export type OpenFile = (part?: { from: number; version: string }) => Promise<FileBytes>;

const GZIP = [0x1f, 0x8b];
const CHUNK_BYTES = 64 * 1024;

/** The bytes, unzipped where they are gzip: told by their first two, which begin no text of UTF-8. */
export async function* unzipped(chunks: AsyncIterable<Buffer>, onGzip: () => void): AsyncGenerator<Buffer, void, undefined> {
  const all = chunks[Symbol.asyncIterator]();
  try {
    const head: Buffer[] = [];
    for (let length = 0; length < GZIP.length;) {
      const { done, value } = await all.next();
      if (done) break;
      head.push(value);
      length += value.length;
    }
    const first = Buffer.concat(head);
    const rest = restOf(first, all);
    if (!GZIP.every((byte, at) => first[at] === byte)) return yield* rest;
    onGzip();
    yield* gunzip(rest);
  } finally {
    await all.return?.();
  }
}

async function* restOf(first: Buffer, all: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  if (first.length > 0) yield first;
  yield* { [Symbol.asyncIterator]: () => all };
}

async function* gunzip(zipped: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES });
  const piped = pipeline(Readable.from(zipped, { objectMode: true, highWaterMark: 1 }), unzip);
  // What breaks comes out of `unzip`, too.
  piped.catch(() => undefined);
  try {
    for await (const chunk of unzip) yield chunk as Buffer;
  } catch (error) {
    throw refusalOfUnzip(error);
  } finally {
    unzip.destroy();
    await piped.catch(() => undefined);
  }
}

function refusalOfUnzip(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (code === 'Z_BUF_ERROR') return sourceRefusal('transfer_broken', 'The file ends in the middle of its gzip stream');
  if (typeof code !== 'string' || !code.startsWith('Z_')) return error;
  return sourceRefusal('source_refused', 'The file begins as gzip and is none: have it written anew');
}

/** Without the first `bytes` of them. */
export async function* skipped(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes;
  for await (const chunk of chunks) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
