/** Reads the rows of a type slice by slice, for files that begin and end anywhere in a slice. */
import { Readable } from 'node:stream';
import type { ExportCheckpoint } from '../../store/exports/export-files.ts';

/** Some bytes of a slice, or its end: its number of rows, and where the next slice begins. */
export type SlicePiece = { bytes: Buffer } | { rows: number; next: ExportCheckpoint };

/** Number of pieces of 64 KiB that are read ahead while others are compressed. */
const PIECES_AHEAD = 64;

/** Reads the slices of a type once, in order, for one file after another. */
export class SliceReader {
  readonly #stream: Readable;
  readonly #pieces: AsyncIterator<SlicePiece>;
  /** The first bytes of a slice that no file has taken yet. */
  #first: Buffer | null = null;
  #checkpoint: ExportCheckpoint | null;

  constructor(pieces: AsyncIterable<SlicePiece>, from: ExportCheckpoint | null) {
    this.#stream = Readable.from(pieces, { highWaterMark: PIECES_AHEAD });
    this.#pieces = this.#stream[Symbol.asyncIterator]() as AsyncIterator<SlicePiece>;
    this.#checkpoint = from;
  }

  /** The checkpoint behind the last slice that was read whole. */
  get checkpoint(): ExportCheckpoint | null {
    return this.#checkpoint;
  }

  /** Skips slices without rows. Returns false at the end of the last one. */
  async hasRows(): Promise<boolean> {
    while (this.#first === null) {
      const { value: piece, done } = await this.#pieces.next();
      if (done) return false;
      if ('bytes' in piece) this.#first = piece.bytes;
      else this.#checkpoint = piece.next;
    }
    return true;
  }

  /** Yields the bytes of the next slice that has rows; returns its number of rows. */
  async *slice(): AsyncGenerator<Buffer, number> {
    if (!(await this.hasRows())) return 0;
    yield this.#first!;
    this.#first = null;
    for (;;) {
      const { value: piece, done } = await this.#pieces.next();
      if (done) throw new Error('a slice has no end');
      if ('bytes' in piece) {
        yield piece.bytes;
        continue;
      }
      this.#checkpoint = piece.next;
      return piece.rows;
    }
  }

  /** Ends the reading, and frees its source. */
  close(): void {
    this.#stream.destroy();
  }
}
