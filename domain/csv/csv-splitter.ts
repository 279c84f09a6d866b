/** Splits the bytes of a CSV file into records, in one pass and with bounded memory. */
import { Buffer, isUtf8 } from 'node:buffer';
import { COMMA, CR, type Delimiter, LF, QUOTE } from './csv-bytes.ts';
import {
  type Bad,
  type BadReason,
  type Extent,
  type Piece,
  recordBytes,
  resumeAfter,
  type Run,
  RunBuilder,
} from './csv-pieces.ts';

/** Result of a scan: the LF that ends the record, a stray quote, a record over the limit, or the end of the bytes. */
type Found = 'record' | 'stray_quote' | 'too_long' | 'more';

// State at the next byte. The last two follow a quote that closes its field, unless another quote follows.
const PLAIN = 0;
const QUOTED = 1;
const QUOTE_SEEN = 2;
const QUOTE_CR_SEEN = 3;
/** Start of a record that has left the window. */
const NOWHERE = -1;

/** Finds the ends of CSV records in a window of bytes; all indexes point into that window. */
class RecordScanner {
  /** The record's first byte, and the next byte to read (the LF of a record that was found). */
  start = 0;
  pos = 0;
  /** Index after the record's first line end inside quotes; 0 if there is none. */
  firstLineEnd = 0;

  readonly #maxRecordBytes: number;
  readonly #delimiter: number;
  #state = PLAIN;
  /** Index up to which all line ends that the last failed record crossed lie inside quotes. */
  #openUntil = 0;
  /** True if a bad closing quote stands at #openUntil. */
  #openEndsInError = false;

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

  /** Skips a record over the limit. Inside quotes, a quote counts only where a field may end: cells hold no records. */
  passOver(bytes: Uint8Array, end: number): boolean {
    for (;;) {
      if (this.#state === PLAIN) this.pos = findPlainEnd(bytes, this.pos, end, NOWHERE, this.#delimiter);
      else if (this.#state === QUOTED) this.pos = findQuote(bytes, this.pos, end);
      this.start = this.pos - 1; // it decides whether the next byte opens a field
      if (this.pos === end) return false;
      const byte = bytes[this.pos]!;
      if (byte === LF && this.#state !== QUOTED) return true;
      const next = nextState(this.#state, byte, this.#delimiter);
      this.#state = next ?? QUOTED;
      if (next !== undefined) this.pos += 1;
    }
  }

  isOpen(): boolean {
    return this.#state === QUOTED;
  }

  /** Returns whether this record has a stray quote if the file ends at `end`. */
  isStrayAt(end: number): boolean {
    const isStray = this.#state === QUOTED || (this.#state === QUOTE_CR_SEEN && this.firstLineEnd > 0);
    if (isStray) this.#rememberOpen(end, false);
    return isStray;
  }

  /** Takes a byte that may change the state; returns false if it proves a stray quote. */
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
    this.#state = PLAIN; // a bad closing quote within one line costs only that line: the parser refuses it
    return true;
  }

  /** Crosses a line end inside quotes. Bytes up to #openUntil would fail again: skipping them keeps this linear. */
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

/** Returns the state after a byte that ends no line; undefined for a byte that cannot follow a closing quote. */
function nextState(state: number, byte: number, delimiter: number): number | undefined {
  if (state === PLAIN) return QUOTED;
  if (state === QUOTED) return QUOTE_SEEN;
  if (state === QUOTE_CR_SEEN) return undefined;
  if (byte === QUOTE) return QUOTED;
  if (byte === delimiter) return PLAIN;
  return byte === CR ? QUOTE_CR_SEEN : undefined;
}

const MAX_RECORD_BYTES = 1024 * 1024;

const SAMPLE_BYTES = 2048;

export type SplitterOptions = {
  maxRecordBytes?: number;
  maxRunBytes?: number;
  delimiter?: Delimiter;
  /** Offset of the first chunk: the file's start, the end of a piece, or a record's start. */
  startOffset?: number;
  startLine?: number;
  /** Counts each record and empty line as one line, whatever line ends it contains, for the rows of a sheet. */
  countsRecords?: boolean;
};

export type CsvSplitter = {
  /** Yields the pieces that this chunk completes. Copies the chunk. Read the iterator to its end first. */
  push(chunk: Uint8Array): Generator<Piece, void, void>;
  /** Yields the remaining pieces; the last record needs no line end. */
  end(): Generator<Piece, void, void>;
};

/**
 * Splits the bytes of a CSV file into records, and sets aside what cannot be a record, so that nothing after it is
 * lost.
 *
 * A record ends with LF or CRLF outside quotes (RFC 4180); a lone CR is a byte like any other. A quote opens a field
 * only as its first byte. Empty lines are no records, and a BOM at the file's start is skipped. Set aside are:
 * - `too_long`: a record over the limit, up to its line end. Inside quotes a line end does not end it, and a quote
 * closes a field only before a comma or a line end;
 * - `unclosed_quote`: such a record whose last quote is never closed: the rest of the file;
 * - `stray_quote`: a quoted field within the limit that crosses a line end, and then is still open at the file's end or
 * has another byte than a comma or a line end after its closing quote. Only the record's first line is set aside;
 * reading resumes on the next;
 * - `not_utf8`: a record that is not UTF-8.
 *
 * Reading can resume at the end of any piece, in a new splitter, with the same result.
 */
export function createCsvSplitter(options: SplitterOptions = {}): CsvSplitter {
  return new Splitter(options);
}

class Splitter implements CsvSplitter {
  readonly #maxRunBytes: number;
  readonly #scanner: RecordScanner;
  readonly #run: RunBuilder;
  readonly #countsRecords: boolean;

  // The window: the unfinished record and everything after its start.
  #bytes = Buffer.alloc(0);
  #end = 0;
  /** Offset in the file of #bytes[0]. */
  #base: number;
  #line: number;
  #mayHaveBom: boolean;
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

  /** Grows the window to twice what it keeps, so that a record in many chunks is copied a few times at most. */
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
    const sample = Buffer.from(withoutLineEnd(this.#bytes.subarray(start, next))); // a copy: the window may be dropped
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

  /** Returns the index after the line end of an over-long record; undefined if it is still to come. */
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

/** Returns the index in [from, to) of the first LF, or of a quote that opens a field; `to` if there is none. */
function findPlainEnd(bytes: Uint8Array, from: number, to: number, recordStart: number, delimiter: number): number {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at]!;
    if (byte > QUOTE) continue; // nearly always: one comparison a byte
    if (byte === LF) return at;
    if (byte === QUOTE && (at === recordStart || bytes[at - 1] === delimiter)) return at;
  }
  return to;
}

function findQuotedEnd(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at]!;
    if (byte <= QUOTE && (byte === QUOTE || byte === LF)) return at;
  }
  return to;
}

function findQuote(bytes: Uint8Array, from: number, to: number): number {
  const found = bytes.subarray(0, to).indexOf(QUOTE, from);
  return found === -1 ? to : found;
}

function countLineEnds(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at += 1) if (bytes[at] === LF) count += 1;
  return count;
}

/** Yields a run, or if it is not all UTF-8 its parts, with each record that is not UTF-8 as a piece of its own. */
function* separateBadUtf8(run: Run): Generator<Piece, void, void> {
  if (isUtf8(run.bytes)) return yield run;
  let first = 0;
  for (let record = 0; record < run.records; record += 1) {
    const bytes = recordBytes(run, record);
    if (isUtf8(bytes)) continue;
    if (record > first) yield part(run, first, record);
    yield { kind: 'bad', reason: 'not_utf8', ...extent(run, record, record + 1), sample: Buffer.from(bytes) };
    first = record + 1;
  }
  if (first < run.records) yield part(run, first, run.records);
}

function part(run: Run, from: number, to: number): Run {
  const start = run.starts[from]!;
  const place = extent(run, from, to);
  return {
    kind: 'run',
    ...place,
    bytes: run.bytes.subarray(start, place.endOffset - run.offset),
    records: to - from,
    starts: run.starts.slice(from, to).map((at) => at - start),
    ends: run.ends.slice(from, to).map((at) => at - start),
    lines: run.lines.slice(from, to),
  };
}

function extent(run: Run, from: number, to: number): Extent {
  const { offset: endOffset, line: endLine } = resumeAfter(run, to - 1);
  return { offset: run.offset + run.starts[from]!, line: run.lines[from]!, endOffset, endLine };
}
