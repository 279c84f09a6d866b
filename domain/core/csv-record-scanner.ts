import { COMMA, CR, findPlainEnd, findQuote, findQuotedEnd, LF, QUOTE } from './csv-bytes.ts';

/**
 * What a scan came to: the LF that ends the record, a quote that can't be right, a record over the limit,
 * or the end of the bytes at hand.
 */
export type Found = 'record' | 'stray_quote' | 'too_long' | 'more';

// Whether the next byte is outside quotes, inside them, after a quote that closes unless another follows,
// or after such a quote and a CR.
const PLAIN = 0;
const QUOTED = 1;
const QUOTE_SEEN = 2;
const QUOTE_CR_SEEN = 3;
/** The start of a record that is no longer in the window. */
const NOWHERE = -1;

/** Finds the ends of CSV records in a window of bytes; every index points into that window. */
export class RecordScanner {
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
