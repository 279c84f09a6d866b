/** Scans a JSON text before it is parsed: its depth, its large values, and numbers that need care. */

const [QUOTE, BACKSLASH, COMMA, COLON, UNDERSCORE] = codesOf('"\\,:_');
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = codesOf('[]{}');
const [MINUS, PLUS, POINT, ZERO, NINE, E, CAPITAL_E] = codesOf('-+.09eE');
/** A quote and a backslash, four times in one word. */
const [QUOTES, BACKSLASHES] = [0x22222222, 0x5c5c5c5c];
const NO_WORDS = new Int32Array(0);
const [SPACE, TAB, LINE_FEED, RETURN] = codesOf(' \t\n\r');

/** Digits that a double always keeps and writes in the same way. */
const MAX_PLAIN_DIGITS = 15;

export type ScanOptions = {
  /** Depth at which the scan ends. */
  maxNesting: number;
  /** Finds numbers that a double may not keep exactly. */
  exactNumbers: boolean;
  /** Size in bytes above which arrays and objects are cut into pieces of about this size. */
  pieceBytes: number;
};

/**
 * Consecutive elements of an array or members of an object, without the commas around them; or a single one whose value
 * is large and starts at `large`.
 */
export type JsonPiece = { start: number; end: number; large: number | null };

/**
 * An array or object, from its opening bracket at `start` to `end` behind its closing one, with its pieces in order.
 */
export type LargeJson = { start: number; end: number; pieces: JsonPiece[] };

/**
 * Scans the bytes of a JSON text in one pass, before anything is parsed. It costs less than JSON.parse for any text.
 * The text may be invalid. Content of strings does not count.
 */
export class JsonScan {
  /** Maximum depth of arrays and objects. */
  nesting = 0;
  hasUnderscored = false;
  hasEscapes = false;
  /** Numbers that a double may not keep: start and end, in turns. */
  readonly inexact: number[] = [];
  readonly large = new Map<number, LargeJson>();
  readonly #options: ScanOptions;
  /** Open arrays and objects, from the outermost; the first stands for the text. */
  readonly #open: Level[] = [new Level()];
  #depth = 0;
  #at = 0;
  /** Start of the current element or member. */
  #item = 0;
  /** Index from which the next comma ends the piece. */
  #cutsFrom = Infinity;

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  /** Scans up to `until`, or a little further: tokens are not cut. Returns whether there is more. */
  continue(bytes: Uint8Array, until: number): boolean {
    const { maxNesting, exactNumbers, pieceBytes } = this.#options;
    const open = this.#open;
    const end = Math.min(until, bytes.length);
    const words = wordsOf(bytes);
    // Local variables: private members take twice the time.
    let [at, depth, item, cutsFrom] = [this.#at, this.#depth, this.#item, this.#cutsFrom];
    for (; at < end; at += 1) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        if (bytes[at + 1] === UNDERSCORE) this.hasUnderscored = true;
        for (at = findStop(bytes, words, at + 1); bytes[at] === BACKSLASH; at = findStop(bytes, words, at + 2))
          this.hasEscapes = true;
      } else if (byte === COLON || byte === SPACE) {
        continue;
      } else if (byte === COMMA) {
        if (at >= cutsFrom) {
          open[depth]!.cut(at);
          cutsFrom = at + 1 + pieceBytes;
        }
        item = at + 1;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        open[depth]!.leave(item, cutsFrom);
        depth += 1;
        if (depth > this.nesting) {
          this.nesting = depth;
          if (depth > maxNesting) return false;
          open.push(new Level());
        }
        open[depth]!.begin(at);
        item = at + 1;
        cutsFrom = item + pieceBytes;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === 0) continue;
        const ended = open[depth]!;
        depth -= 1;
        const level = open[depth]!;
        if (at + 1 - ended.start > pieceBytes) {
          this.large.set(ended.start, ended.end(at));
          if (depth > 0) level.setApart(ended.start);
        }
        ({ item, cutsFrom } = level);
      } else if (exactNumbers && (byte === MINUS || (byte >= ZERO! && byte <= NINE!))) {
        const after = endOfNumber(bytes, at);
        if (!isPlainNumber(bytes, at, after) && bytes[skipSpace(bytes, after)] !== COLON) this.inexact.push(at, after);
        at = after - 1;
      }
    }
    [this.#at, this.#depth, this.#item, this.#cutsFrom] = [at, depth, item, cutsFrom];
    return at < bytes.length;
  }
}

/** An open array or object; `item` and `cutsFrom` are restored when the scan returns to it. */
class Level {
  start = 0;
  item = 0;
  cutsFrom = Infinity;
  #piece = 0;
  /** Start of the large value in this piece. */
  #large: number | null = null;
  #pieces: JsonPiece[] = [];

  begin(at: number): void {
    this.start = at;
    this.#piece = at + 1;
    this.#large = null;
    if (this.#pieces.length > 0) this.#pieces = [];
  }

  leave(item: number, cutsFrom: number): void {
    this.item = item;
    this.cutsFrom = cutsFrom;
  }

  cut(at: number): void {
    this.#pieces.push({ start: this.#piece, end: at, large: this.#large });
    this.#piece = at + 1;
    this.#large = null;
  }

  /** Makes the current item, which has a large value, a piece of its own. */
  setApart(start: number): void {
    if (this.item > this.#piece) this.cut(this.item - 1);
    this.#large = start;
    this.cutsFrom = 0;
  }

  end(at: number): LargeJson {
    this.cut(at);
    return { start: this.start, end: at + 1, pieces: this.#pieces };
  }
}

/** Returns the bytes as words of four; none if they don't begin at a multiple of four. */
function wordsOf({ buffer, byteOffset, length }: Uint8Array): Int32Array {
  return byteOffset % 4 === 0 ? new Int32Array(buffer, byteOffset, length >> 2) : NO_WORDS;
}

/**
 * Returns the index of the next quote or backslash, or the end. Strings are most of a text, so it skips four bytes at a
 * time.
 */
function findStop(bytes: Uint8Array, words: Int32Array, from: number): number {
  let at = from;
  for (; (at & 3) !== 0; at += 1) {
    if (bytes[at] === QUOTE || bytes[at] === BACKSLASH) return at;
  }
  let index = at >> 2;
  for (; index < words.length; index += 1) {
    const quoted = words[index]! ^ QUOTES;
    const escaped = words[index]! ^ BACKSLASHES;
    // Subtracting one from each byte borrows from above only where one is zero.
    if ((((quoted - 0x01010101) & ~quoted) | ((escaped - 0x01010101) & ~escaped)) & 0x80808080) break;
  }
  for (at = index << 2; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE || bytes[at] === BACKSLASH) break;
  }
  return at;
}

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === LINE_FEED || bytes[at] === RETURN) at += 1;
  return at;
}

/** Returns the end of a number, valid or not: the parser refuses an invalid one. */
function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    const isDigit = byte >= ZERO! && byte <= NINE!;
    if (!isDigit && byte !== POINT && byte !== MINUS && byte !== PLUS && byte !== E && byte !== CAPITAL_E) break;
  }
  return at;
}

/**
 * Returns whether a double has the same text: short, no exponent, no zero at the end of decimals, neither tiny nor -0.
 */
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

function codesOf(characters: string): number[] {
  return [...characters].map((character) => character.charCodeAt(0));
}
