/** Pieces of a split CSV file: runs of records, and records that cannot be read. */
import type { Buffer } from 'node:buffer';

/** A piece's position: bytes from the file's start, physical lines from 1. Reading can resume at its end. */
export type Extent = { offset: number; line: number; endOffset: number; endLine: number };

/** Consecutive records within the size limit. Their quotes are not checked yet. */
export type Run = Extent & {
  kind: 'run';
  bytes: Buffer;
  records: number;
  /** Start and end (before the line end) of each record in `bytes`. */
  starts: Int32Array;
  ends: Int32Array;
  lines: Float64Array;
};

export type BadReason = 'too_long' | 'unclosed_quote' | 'not_utf8' | 'stray_quote';

/** A record, or the line of a stray quote, that cannot be read. `sample`: whole, or 2 KiB if too long or unclosed. */
export type Bad = Extent & { kind: 'bad'; reason: BadReason; sample: Buffer };

export type Piece = Run | Bad;

export const isCut = (reason: BadReason): boolean => reason === 'too_long' || reason === 'unclosed_quote';

export function recordBytes(run: Run, record: number): Buffer {
  return run.bytes.subarray(run.starts[record], run.ends[record]);
}

export function resumeAfter(run: Run, record: number): { offset: number; line: number } {
  if (record + 1 >= run.records) return { offset: run.endOffset, line: run.endLine };
  return { offset: run.offset + run.starts[record + 1]!, line: run.lines[record + 1]! };
}

/** Builds one run after another in arrays that it reuses; indexes point into one window. */
export class RunBuilder {
  #records = 0;
  #start = 0;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #lines: Float64Array;

  /** `maxBytes`: size of a run's records and line ends after which it takes no more. */
  constructor(maxBytes: number) {
    const mostRecords = Math.ceil(maxBytes / 2) + 1; // the shortest is a byte and its line end
    this.#starts = new Int32Array(mostRecords);
    this.#ends = new Int32Array(mostRecords);
    this.#lines = new Float64Array(mostRecords);
  }

  add(start: number, end: number, line: number): void {
    if (this.#records === 0) this.#start = start;
    this.#starts[this.#records] = start - this.#start;
    this.#ends[this.#records] = end - this.#start;
    this.#lines[this.#records] = line;
    this.#records += 1;
  }

  spanTo(end: number): number {
    return this.#records === 0 ? 0 : end - this.#start;
  }

  /** Returns the run up to `end`, where line `endLine` begins; undefined if it has no record. */
  take(window: Buffer, windowOffset: number, end: number, endLine: number): Run | undefined {
    const records = this.#records;
    if (records === 0) return undefined;
    this.#records = 0;
    return {
      kind: 'run',
      bytes: window.subarray(this.#start, end),
      offset: windowOffset + this.#start,
      line: this.#lines[0]!,
      endOffset: windowOffset + end,
      endLine,
      records,
      starts: this.#starts.slice(0, records),
      ends: this.#ends.slice(0, records),
      lines: this.#lines.slice(0, records),
    };
  }
}
