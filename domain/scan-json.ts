const [QUOTE, BACKSLASH, COMMA, COLON] = Buffer.from('"\\,:');
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('[]{}');
const [MINUS, PLUS, POINT, ZERO, NINE, E, CAPITAL_E] = Buffer.from('-+.09eE');
const [SPACE, TAB, LINE_FEED, RETURN] = Buffer.from(' \t\n\r');
/** A double keeps every number of so many digits, and writes it alike. */
const MAX_PLAIN_DIGITS = 15;

export type ScanOptions = {
  /** Deeper nesting ends the scan. */
  maxNesting: number;
  /** Finds numbers that a double may not keep digit for digit. */
  exactNumbers: boolean;
  /** Finds arrays and objects that are longer, in bytes. */
  largeBytes: number;
};

/**
 * What one look over the bytes of a JSON text finds, before anything of it is parsed: it costs less than JSON.parse, whatever the text.
 * The text need not be sound. What stands within strings doesn't count.
 */
export class JsonScan {
  /** Of arrays and objects within each other: how deep. */
  nesting = 0;
  /** Numbers that a double may not keep: start and end, in turns. */
  readonly inexact: number[] = [];
  /** Where each array or object that is longer than `largeBytes` ends, by where it starts. */
  readonly large = new Map<number, number>();
  readonly #options: ScanOptions;
  readonly #open: number[] = [];
  #at = 0;

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  /** Goes on to `until`, or a little further: tokens are not cut. Returns whether there is more. */
  continue(bytes: Uint8Array, until: number): boolean {
    const { maxNesting, exactNumbers, largeBytes } = this.#options;
    const open = this.#open;
    const end = Math.min(until, bytes.length);
    let at = this.#at;
    for (; at < end; at += 1) {
      const byte = bytes[at]!;
      if (byte === QUOTE) at = endOfString(bytes, at) - 1;
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
        open.push(at);
        if (open.length > this.nesting) this.nesting = open.length;
        if (this.nesting > maxNesting) return false;
      } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
        const start = open.pop();
        if (start !== undefined && at + 1 - start > largeBytes) this.large.set(start, at + 1);
      } else if (exactNumbers && (byte === MINUS || (byte >= ZERO! && byte <= NINE!))) {
        const after = endOfNumber(bytes, at);
        if (!isPlainNumber(bytes, at, after) && bytes[skipSpace(bytes, after)] !== COLON) this.inexact.push(at, after);
        at = after - 1;
      }
    }
    this.#at = at;
    return at < bytes.length;
  }
}

/** Elements of an array, or members of an object with their names, that stand side by side; or one that holds a large value. */
export type JsonPiece = { start: number; end: number; large: { start: number; end: number } | null };

/**
 * Cuts the array or object from `start` to `end` at commas of its own, into pieces of `pieceBytes` or a little more: in their order,
 * without the commas between. A piece with an array or object in `large` has nothing else; those are not looked through again.
 */
export function *cutJson(
  bytes: Uint8Array, start: number, end: number, large: ReadonlyMap<number, number>, pieceBytes: number,
): Generator<JsonPiece> {
  const last = end - 1;
  let pieceStart = start + 1;
  let itemStart = pieceStart;
  let depth = 0;
  let found: JsonPiece['large'] = null;
  for (let at = pieceStart; at <= last; at += 1) {
    const byte = bytes[at]!;
    if (at === last || (byte === COMMA && depth === 0)) {
      if (at === last || found !== null || at - pieceStart >= pieceBytes) {
        yield { start: pieceStart, end: at, large: found };
        pieceStart = at + 1;
        found = null;
      }
      itemStart = at + 1;
    } else if (byte === QUOTE) at = Math.min(endOfString(bytes, at), last) - 1;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      const after = depth === 0 ? large.get(at) : undefined;
      if (after === undefined) depth += 1;
      else {
        if (itemStart > pieceStart) yield { start: pieceStart, end: itemStart - 1, large: null };
        pieceStart = itemStart;
        found = { start: at, end: after };
        at = after - 1;
      }
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
  }
}

/** Of a string whose quote is at `start`: behind its closing one, or behind the text. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === LINE_FEED || bytes[at] === RETURN) at += 1;
  return at;
}

/** Whatever is of a number, also of one that is none: the parser refuses it. */
function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    const isDigit = byte >= ZERO! && byte <= NINE!;
    if (!isDigit && byte !== POINT && byte !== MINUS && byte !== PLUS && byte !== E && byte !== CAPITAL_E) break;
  }
  return at;
}

/** A double's text is the same: short, no exponent, no zero at the end behind a point, neither tiny nor -0. */
function isPlainNumber(bytes: Uint8Array, start: number, end: number): boolean {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (end - first > MAX_PLAIN_DIGITS) return false;
  let point = -1;
  for (let at = first; at < end; at += 1) {
    if (bytes[at] === POINT) point = at;
    else if (bytes[at]! < ZERO! || bytes[at]! > NINE!) return false;
  }
  if (point === -1) return !isNegative || bytes[first] !== ZERO;
  const mayBeTiny = bytes[first] === ZERO && bytes[point + 1] === ZERO;
  return !mayBeTiny && bytes[end - 1] !== ZERO;
}
