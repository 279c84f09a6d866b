import { Buffer } from 'node:buffer';
import {
  COMMA,
  countLineEnds,
  CR,
  type Delimiter,
  findPlainEnd,
  findQuote,
  findQuotedEnd,
  LF,
  QUOTE,
} from './csv-bytes.ts';
import { type Bad, type BadReason, type Piece, RunBuilder, separateBadUtf8 } from './csv-pieces.ts';

/**
 * What a scan came to: the LF that ends the record, a quote that can't be right, a record over the limit,
 * or the end of the bytes at hand.
 */
type Found = 'record' | 'stray_quote' | 'too_long' | 'more';

// Whether the next byte is outside quotes, inside them, after a quote that closes unless another follows,
// or after such a quote and a CR.
const PLAIN = 0;
const QUOTED = 1;
const QUOTE_SEEN = 2;
const QUOTE_CR_SEEN = 3;
/** The start of a record that is no longer in the window. */
const NOWHERE = -1;

/** Finds the ends of CSV records in a window of bytes; every index points into that window. */
class RecordScanner {
  /** The record's first byte, and the next byte to look at (of a record that was found: its LF). */
  start = 0;
  pos = 0;
  /** Just after the record's first line end inside quotes; 0 while there is none. */
  firstLineEnd = 0;

  readonly #maxRecordBytes: number;
  readonly #delimiter: number;
  #state = PLAIN;
  /** Up to here, every line end that the last failed record crossed lies inside quotes. */
  #openUntil = 0;
  /** Whether a bad closing quote stands at #openUntil. */
  #openEndsInError = false;

  /** `delimiter` is the byte between fields. */
  constructor(maxRecordBytes: number, delimiter = COMMA) {
    this.#maxRecordBytes = maxRecordBytes;
    this.#delimiter = delimiter;
  }

  begin(start: number): void {
    this.start = start;
    this.pos = start;
    this.firstLineEnd = 0;
    this.#state = PLAIN;
  }

  /** The window's first bytes, none of them this record's, are dropped. */
  shift(dropped: number): void {
    this.start -= dropped;
    this.pos -= dropped;
    this.#openUntil -= dropped;
    if (this.firstLineEnd > 0) this.firstLineEnd -= dropped;
  }

  /** Looks for the record's end before `end`, from where the last scan stopped. */
  find(bytes: Uint8Array, end: number): Found {
    const stop = Math.min(end, this.start + this.#maxRecordBytes);
    for (;;) {
      if (this.#state === PLAIN) this.pos = findPlainEnd(bytes, this.pos, stop, this.start, this.#delimiter);
      else if (this.#state === QUOTED) this.pos = findQuotedEnd(bytes, this.pos, stop);
      if (this.pos === end) return 'more';
      const byte = bytes[this.pos]!;
      if (byte === LF && this.#state !== QUOTED) return 'record';
      if (this.pos === stop) return 'too_long';
      if (!this.#step(byte)) return 'stray_quote';
    }
  }

  /**
   * Passes over a record that `find` found to be over the limit, and keeps none of it but its last byte. Whether its
   * end, the LF at `pos`, is before `end`. Inside quotes a quote counts only where a field may end: the text of a cell
   * must not be read as records.
   */
  passOver(bytes: Uint8Array, end: number): boolean {
    for (;;) {
      if (this.#state === PLAIN) this.pos = findPlainEnd(bytes, this.pos, end, NOWHERE, this.#delimiter);
      else if (this.#state === QUOTED) this.pos = findQuote(bytes, this.pos, end);
      this.start = this.pos - 1; // whether the next byte opens a field depends on it
      if (this.pos === end) return false;
      const byte = bytes[this.pos]!;
      if (byte === LF && this.#state !== QUOTED) return true;
      const next = nextState(this.#state, byte, this.#delimiter);
      this.#state = next ?? QUOTED;
      if (next !== undefined) this.pos += 1;
    }
  }

  /** Whether the record that is passed over is inside quotes. */
  isOpen(): boolean {
    return this.#state === QUOTED;
  }

  /** Whether the file's end, at `end`, leaves this record with a quote that can't be right. */
  isStrayAt(end: number): boolean {
    const isStray = this.#state === QUOTED || (this.#state === QUOTE_CR_SEEN && this.firstLineEnd > 0);
    if (isStray) this.#rememberOpen(end, false);
    return isStray;
  }

  /** Takes a byte that may change the state; false when it proves a stray quote. */
  #step(byte: number): boolean {
    if (this.#state === QUOTED && byte === LF) return this.#crossLineEnd();
    const next = nextState(this.#state, byte, this.#delimiter);
    if (next !== undefined) {
      this.#state = next;
      this.pos += 1;
      return true;
    }
    if (this.firstLineEnd > 0) {
      this.#rememberOpen(this.pos, true);
      return false;
    }
    this.#state = PLAIN; // a bad closing quote within one line costs that line alone: the parser refuses it
    return true;
  }

  /**
   * A record that failed was inside quotes at each line end it crossed. A later record that is inside quotes at
   * one of these is in the same state at the same place, so it fares the same up to #openUntil, and no byte
   * between is looked at again. This keeps a file with a stray quote on every line linear.
   */
  #crossLineEnd(): boolean {
    if (this.firstLineEnd === 0) this.firstLineEnd = this.pos + 1;
    const isKnown = this.pos < this.#openUntil;
    if (isKnown && this.#openEndsInError) return false;
    this.pos = isKnown ? this.#openUntil : this.pos + 1;
    return true;
  }

  #rememberOpen(until: number, endsInError: boolean): void {
    this.#openUntil = until;
    this.#openEndsInError = endsInError;
  }
}

/** The state after a byte that ends no line; undefined for a byte that can't follow a closing quote. */
function nextState(state: number, byte: number, delimiter: number): number | undefined {
  if (state === PLAIN) return QUOTED;
  if (state === QUOTED) return QUOTE_SEEN;
  if (state === QUOTE_CR_SEEN) return undefined;
  if (byte === QUOTE) return QUOTED;
  if (byte === delimiter) return PLAIN;
  return byte === CR ? QUOTE_CR_SEEN : undefined;
}

/** One record, without its LF, has at most so many bytes (1 MiB). */
const MAX_RECORD_BYTES = 1024 * 1024;

/** What is kept of a longer one. */
const SAMPLE_BYTES = 2048;

export type SplitterOptions = {
  maxRecordBytes?: number;
  /** A run ends with the record that brings it to so many bytes; default 64 KiB. */
  maxRunBytes?: number;
  /** Between fields; default a comma. */
  delimiter?: Delimiter;
  /** Where the first chunk lies in the file: at its start, at the end of a piece, or at a record's start. */
  startOffset?: number;
  startLine?: number;
  /** Each record is one line, however many line ends it has: the rows of a sheet. Empty lines count as well. */
  countsRecords?: boolean;
};

export type CsvSplitter = {
  /**
   * The pieces that this chunk completes; the chunk is copied. All complete records come out with it, so runs are
   * no larger than chunks. The iterator must be read to its end before the next call.
   */
  push(chunk: Uint8Array): Generator<Piece, void, void>;
  /** The remaining pieces; a last record needs no line end. */
  end(): Generator<Piece, void, void>;
};

/**
 * Splits the bytes of a CSV file into records, in one pass and in memory bounded by the record limit, and sets
 * aside what can't be one, so that nothing after it is lost.
 *
 * A record ends with LF or CRLF outside quotes (RFC 4180); a lone CR is a byte like any other. A quote opens a
 * field only as its first byte. Empty lines are no records, and a BOM at the file's start is skipped.
 * Set aside are:
 * - `too_long`: a record over the limit, up to its line end. Inside quotes a line end does not end it, nor does a quote
 * close a field
 *   there that another byte than a comma or a line end follows;
 * - `unclosed_quote`: such a record whose last quote is never closed: the rest of the file;
 * - `stray_quote`: a quoted field within the limit that crosses a line end and then is still open at the file's end,
 *   or has something other than a comma or a line end after its closing quote. Only the record's first line is set
 *   aside; reading resumes on the next;
 * - `not_utf8`: a record that is not UTF-8.
 *
 * Reading can resume from the end of any piece, in a new splitter, with the same outcome.
 */
export function createCsvSplitter(options: SplitterOptions = {}): CsvSplitter {
  return new Splitter(options);
}

class Splitter implements CsvSplitter {
  readonly #maxRunBytes: number;
  readonly #scanner: RecordScanner;
  readonly #run: RunBuilder;
  readonly #countsRecords: boolean;

  // The window: the unfinished record, and all that came after its start.
  #bytes = Buffer.alloc(0);
  #end = 0;
  /** Offset in the file of #bytes[0]. */
  #base: number;
  /** Physical line on which the unfinished record begins. */
  #line: number;
  #mayHaveBom: boolean;
  /** The over-long record whose end is being looked for. */
  #skipped: { offset: number; line: number; sample: Buffer } | undefined;

  constructor(options: SplitterOptions) {
    const {
      maxRecordBytes = MAX_RECORD_BYTES,
      maxRunBytes = 64 * 1024,
      startOffset = 0,
      startLine = 1,
      delimiter = ',',
    } = options;
    this.#countsRecords = options.countsRecords ?? false;
    this.#maxRunBytes = maxRunBytes;
    this.#scanner = new RecordScanner(maxRecordBytes, delimiter.charCodeAt(0));
    this.#run = new RunBuilder(maxRunBytes);
    this.#base = startOffset;
    this.#line = startLine;
    this.#mayHaveBom = startOffset === 0;
  }

  *push(chunk: Uint8Array): Generator<Piece, void, void> {
    if (this.#end + chunk.length > this.#bytes.length) this.#makeRoom(chunk.length);
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
    if (this.#mayHaveBom && this.#end < 3) return;
    this.#skipBom();
    yield* this.#split();
  }

  *end(): Generator<Piece, void, void> {
    this.#skipBom();
    yield* this.#split();
    while (this.#skipped === undefined && this.#scanner.start < this.#end) {
      if (this.#scanner.isStrayAt(this.#end)) yield this.#setAsideLine();
      else this.#addRecord(this.#end, this.#end);
      yield* this.#split();
    }
    yield* this.#takeRun();
    if (this.#skipped !== undefined)
      yield this.#endSkipped(this.#end, this.#scanner.isOpen() ? 'unclosed_quote' : 'too_long');
  }

  /** Room for as much again as is kept, so that a record that comes in many chunks is copied a few times at most. */
  #makeRoom(bytes: number): void {
    const dropped = this.#scanner.start;
    const kept = this.#bytes.subarray(dropped, this.#end);
    this.#bytes = Buffer.allocUnsafeSlow(kept.length * 2 + bytes);
    this.#bytes.set(kept);
    this.#end = kept.length;
    this.#base += dropped;
    this.#scanner.shift(dropped);
  }

  #skipBom(): void {
    if (!this.#mayHaveBom) return;
    this.#mayHaveBom = false;
    const [first, second, third] = this.#bytes.subarray(0, this.#end);
    if (first === 0xef && second === 0xbb && third === 0xbf) this.#scanner.begin(3);
  }

  *#split(): Generator<Piece, void, void> {
    while (this.#scanner.start < this.#end) {
      if (this.#skipped !== undefined) {
        const end = this.#findSkippedEnd();
        if (end === undefined) return;
        yield this.#endSkipped(end, 'too_long');
        continue;
      }
      const found = this.#findRecords();
      yield* this.#takeRun();
      if (found === 'more') return;
      if (found === 'stray_quote') yield this.#setAsideLine();
      if (found === 'too_long') this.#beginSkipping();
    }
  }

  /** Adds records to the run until it is full or something else comes up. */
  #findRecords(): Found {
    const scanner = this.#scanner;
    for (;;) {
      const found = scanner.find(this.#bytes, this.#end);
      if (found !== 'record') return found;
      const lineEnd = scanner.pos;
      const hasCr = lineEnd > scanner.start && this.#bytes[lineEnd - 1] === CR;
      this.#addRecord(hasCr ? lineEnd - 1 : lineEnd, lineEnd + 1);
      if (this.#run.spanTo(scanner.start) >= this.#maxRunBytes) return found;
    }
  }

  #addRecord(contentEnd: number, next: number): void {
    const { start, firstLineEnd } = this.#scanner;
    if (contentEnd > start) this.#run.add(start, contentEnd, this.#line);
    const isOneLine = this.#countsRecords || (firstLineEnd === 0 && next > contentEnd);
    this.#line += isOneLine ? 1 : countLineEnds(this.#bytes, start, next);
    this.#scanner.begin(next);
  }

  *#takeRun(): Generator<Piece, void, void> {
    const run = this.#run.take(this.#bytes, this.#base, this.#scanner.start, this.#line);
    if (run !== undefined) yield* separateBadUtf8(run);
  }

  /** Sets aside the first line of a record with a stray quote; at the file's end it may have no line end. */
  #setAsideLine(): Bad {
    const { start, firstLineEnd } = this.#scanner;
    const next = firstLineEnd === 0 ? this.#end : firstLineEnd;
    const place = { offset: this.#base + start, line: this.#line };
    const sample = Buffer.from(withoutLineEnd(this.#bytes.subarray(start, next))); // a copy: the window may go
    if (firstLineEnd > 0) this.#line += 1;
    return this.#bad('stray_quote', place, sample, next);
  }

  #beginSkipping(): void {
    const { start, pos } = this.#scanner;
    this.#skipped = {
      offset: this.#base + start,
      line: this.#line,
      sample: Buffer.from(this.#bytes.subarray(start, Math.min(pos, start + SAMPLE_BYTES))),
    };
    this.#countSkipped(start, pos);
  }

  /** Just after the line end that ends an over-long record; undefined if that is still to come. */
  #findSkippedEnd(): number | undefined {
    const from = this.#scanner.pos;
    const isFound = this.#scanner.passOver(this.#bytes, this.#end);
    this.#countSkipped(from, this.#scanner.pos);
    if (!isFound) return undefined;
    this.#line += 1;
    return this.#scanner.pos + 1;
  }

  #countSkipped(from: number, to: number): void {
    if (!this.#countsRecords) this.#line += countLineEnds(this.#bytes, from, to);
  }

  #endSkipped(next: number, reason: BadReason): Bad {
    const { sample, ...place } = this.#skipped!;
    this.#skipped = undefined;
    return this.#bad(reason, place, sample, next);
  }

  #bad(reason: BadReason, place: { offset: number; line: number }, sample: Buffer, next: number): Bad {
    this.#scanner.begin(next);
    return { kind: 'bad', reason, ...place, endOffset: this.#base + next, endLine: this.#line, sample };
  }
}

function withoutLineEnd(line: Buffer): Buffer {
  if (line.at(-1) !== LF) return line;
  return line.subarray(0, line.at(-2) === CR ? -2 : -1);
}
