import { finished } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, type Gunzip } from 'node:zlib';

const GIB = 1024 ** 3;
/** Of what a gzip file holds: of an upload, of a fetched file, and of each file that a sync reads (docs/imports.md, docs/connectors.md). */
export const MAX_DECOMPRESSED_BYTES = 50 * GIB;

/** Compressed bytes given to the decompressor at a time: at most a thousandfold of it, 16 MiB, comes out at once. */
const INPUT_BYTES = 16 * 1024;
const OUTPUT_BYTES = 64 * 1024;

export type GunzipOptions = {
  maxBytes: number;
  /** Ends it between two pieces, with the signal's reason. */
  signal?: AbortSignal | undefined;
};

export type GzipDefect = 'cut_off' | 'corrupt' | 'too_large';

/**
 * Decompresses a gzip file (RFC 1952), also one of several members. Yields all that comes out before a defect, and returns
 * the defect. Reads no more of `pieces` than it has asked for, so a source that stalls does not hold up a reader who leaves early.
 */
export async function* gunzip(
  pieces: AsyncIterable<Buffer>, { maxBytes, signal }: GunzipOptions,
): AsyncGenerator<Buffer, GzipDefect | null, undefined> {
  const out: Buffer[] = [];
  const decompressor = createGunzip({ chunkSize: OUTPUT_BYTES }).on('data', (piece: Buffer) => out.push(piece));
  let bytes = 0;
  const decompress = async function* (turn: Promise<GzipDefect | null>): AsyncGenerator<Buffer, GzipDefect | null, undefined> {
    const defect = await turn;
    for (const piece of out.splice(0)) {
      // What has come out at once may take its reader seconds: meanwhile timers, heartbeats and cancellations get their turn.
      await nextTurn();
      signal?.throwIfAborted();
      bytes += piece.length;
      if (bytes > maxBytes) return 'too_large';
      yield piece;
    }
    return defect;
  };
  try {
    for await (const input of inputsOf(pieces)) {
      const defect = yield* decompress(write(decompressor, input));
      if (defect) return defect;
    }
    return yield* decompress(end(decompressor));
  } finally {
    decompressor.destroy();
  }
}

async function* inputsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += INPUT_BYTES) yield piece.subarray(at, at + INPUT_BYTES);
  }
}

/** Resolves once all that comes out of this input has come out. */
function write(decompressor: Gunzip, input: Buffer): Promise<GzipDefect | null> {
  return new Promise((resolve) => {
    const settle = (error?: Error | null) => {
      decompressor.off('error', settle);
      resolve(error ? defectOf(error) : null);
    };
    decompressor.once('error', settle);       // a write that fails is not called back
    decompressor.write(input, settle);
  });
}

function end(decompressor: Gunzip): Promise<GzipDefect | null> {
  return new Promise((resolve) => {
    finished(decompressor, (error) => resolve(error ? defectOf(error) : null));
    decompressor.end();
  });
}

function defectOf(error: Error): GzipDefect {
  return (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR' ? 'cut_off' : 'corrupt';
}
