/** Bytes of an opened file, unzipped. */
import { gunzip, type GzipDefect, MAX_DECOMPRESSED_BYTES } from '../../domain/core/gunzip.ts';
import type { Refusal } from '../../domain/core/refusal.ts';
import type { ConnectorContext } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

/** An opened file; read its bytes or end it. */
export type FileBytes = {
  /** Offset in the file of its first byte. */
  from: number;
  /** Identifies these exact bytes, so that reading may resume in the middle; null if the source has no such version. */
  version: string | null;
  /** Differs when the file has changed; null if unknown. */
  mark: string | null;
  /** Total size of its chunks; null if unknown. */
  bytes: number | null;
  chunks: AsyncIterable<Buffer>;
  /** Ends reading before the file's end. */
  context: Pick<ConnectorContext, 'signal' | 'maxDecompressedBytes' | 'scratch'>;
  end(): Promise<void>;
};

/** Opens a file at its start, or behind `from` bytes of `version`; if that is gone, at the start. */
export type OpenFile = (part?: { from: number; version: string }) => Promise<FileBytes>;

const GZIP = [0x1f, 0x8b];

/**
 * Yields the bytes, unzipped if they are gzip; its first two bytes begin no UTF-8 text. `onTrailingBytes`: the content
 * is complete, but other bytes follow.
 */
export async function* unzipped(
  { chunks, context: { signal, maxDecompressedBytes: maxBytes = MAX_DECOMPRESSED_BYTES } }: FileBytes,
  { onGzip, onTrailingBytes }: { onGzip: () => void; onTrailingBytes: () => void },
): AsyncGenerator<Buffer, void, undefined> {
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
    const defect = yield* gunzip(rest, { maxBytes, signal });
    if (defect === 'trailing_bytes') onTrailingBytes();
    else if (defect) throw refusalOfDefect(defect, maxBytes);
  } finally {
    await all.return?.();
  }
}

async function* restOf(first: Buffer, all: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  if (first.length > 0) yield first;
  yield* { [Symbol.asyncIterator]: () => all };
}

function refusalOfDefect(defect: Exclude<GzipDefect, 'trailing_bytes'>, maxBytes: number): Refusal {
  if (defect === 'cut_off') return sourceRefusal('transfer_broken', 'The file ends in the middle of its gzip stream');
  if (defect === 'corrupt') {
    return sourceRefusal(
      'source_refused',
      'The file begins as gzip and is none, or is corrupt: its checksum, its length or what it holds is wrong',
    );
  }
  const limit = maxBytes.toLocaleString('en');
  return sourceRefusal('too_large', `The gzip file expands to over ${limit} bytes, the most that is taken: split it`);
}

export async function* skipped(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes;
  for await (const chunk of chunks) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
