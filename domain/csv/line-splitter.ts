/** Splits a stream of bytes into lines. */
import { Buffer } from 'node:buffer';
import { CR, LF } from './csv-bytes.ts';

const MAX_LINE_BYTES = 1024 * 1024;
const SAMPLE_BYTES = 2048;

/** `endOffset` and `endLine`: start of the next line, where reading can resume. */
export type Line = {
  /** Without its LF or CRLF; the first 2 KiB of a line that is too long. */
  bytes: Buffer;
  isTooLong: boolean;
  line: number;
  offset: number;
  endOffset: number;
  endLine: number;
};

export type LineSplitterOptions = { maxLineBytes?: number; startOffset?: number; startLine?: number };

/** Splits bytes into lines, in memory bounded by the longest accepted line. Skips a BOM at the file's start. */
export class LineSplitter {
  readonly #maxLineBytes: number;
  readonly #sampleBytes: number;
  #parts: Buffer[] = [];
  #length = 0;
  #offset: number;
  #line: number;

  constructor({ maxLineBytes = MAX_LINE_BYTES, startOffset = 0, startLine = 1 }: LineSplitterOptions = {}) {
    this.#maxLineBytes = maxLineBytes;
    this.#sampleBytes = Math.min(SAMPLE_BYTES, maxLineBytes);
    this.#offset = startOffset;
    this.#line = startLine;
  }

  /** Yields the lines that this chunk completes. The chunk must not change afterwards. */
  *push(chunk: Buffer): Generator<Line, void, void> {
    for (let from = 0; ;) {
      const end = chunk.indexOf(LF, from);
      this.#add(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) return;
      yield this.#take(1);
      from = end + 1;
    }
  }

  *end(): Generator<Line, void, void> {
    if (this.#length > 0) yield this.#take(0);
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    // One more byte is kept: it may be the CR of the line end.
    const wasKept = this.#length <= this.#maxLineBytes + 1;
    this.#length += part.length;
    if (this.#length <= this.#maxLineBytes + 1) this.#parts.push(part);
    else if (wasKept)
      this.#parts = [
        Buffer.concat([...this.#parts, part.subarray(0, this.#sampleBytes)]).subarray(0, this.#sampleBytes),
      ];
  }

  #take(lineEnd: 0 | 1): Line {
    const kept = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const isWhole = kept.length === this.#length;
    const line = isWhole && kept.at(-1) === CR ? kept.subarray(0, -1) : kept;
    const isTooLong = !isWhole || line.length > this.#maxLineBytes;
    const place = { offset: this.#offset, line: this.#line };
    this.#offset += this.#length + lineEnd;
    this.#line += lineEnd;
    this.#parts = [];
    this.#length = 0;
    const bytes = isTooLong ? line.subarray(0, this.#sampleBytes) : withoutBom(line, place.offset);
    return { bytes, isTooLong, ...place, endOffset: this.#offset, endLine: this.#line };
  }
}

function withoutBom(line: Buffer, offset: number): Buffer {
  return offset === 0 && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}
