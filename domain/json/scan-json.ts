const [QUOTE, BACKSLASH, COMMA, COLON, UNDERSCORE] = codesOf('"\\,:_');
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = codesOf('[]{}');
const [MINUS, PLUS, POINT, ZERO, NINE, E, CAPITAL_E] = codesOf('-+.09eE');
/** Four of them, as a word. */
const [QUOTES, BACKSLASHES] = [0x22222222, 0x5c5c5c5c];
const NO_WORDS = new Int32Array(0);
const [SPACE, TAB, LINE_FEED, RETURN] = codesOf(' \t\n\r');

/** A double keeps every number of so many digits, and writes it alike. */
const MAX_PLAIN_DIGITS = 15;

export type ScanOptions = {
  /** Deeper nesting ends the scan. */
  maxNesting: number;
  /** Finds numbers that a double may not keep digit for digit. */
  exactNumbers: boolean;
  /** Arrays and objects that are longer, in bytes, are cut into pieces of this length or a little more. */
  pieceBytes: number;
};

/**
 * Elements of an array, or members of an object with their names, that stand side by side, without the commas around;
 * or a single one whose value is large and starts at `large`.
 */
export type JsonPiece = { start: number; end: number; large: number | null };

/** An array or object, from its bracket at `start` to behind its other one; its pieces in their order. */
export type LargeJson = { start: number; end: number; pieces: JsonPiece[] };

/**
 * What one look over the bytes of a JSON text finds, before anything of it is parsed: it costs less than JSON.parse,
 * whatever the text. The text need not be sound. What stands within strings doesn't count.
 */
export class JsonScan {
  /** Of arrays and objects within each other: how deep. */
  nesting = 0;
  /** Whether a string begins with an underscore. */
  hasUnderscored = false;
  /** Whether a string has a backslash. */
  hasEscapes = false;
  /** Numbers that a double may not keep: start and end, in turns. */
  readonly inexact: number[] = [];
  /** By their starts. */
  readonly large = new Map<number, LargeJson>();
  readonly #options: ScanOptions;
  /** What is open, from the outermost; the first stands for the text. */
  readonly #open: Level[] = [new Level()];
  #depth = 0;
  #at = 0;
  /** Where the element or member begins that is looked at. */
  #item = 0;
  /** A comma here or behind ends the piece. */
  #cutsFrom = Infinity;

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  /** Goes on to `until`, or a little further: tokens are not cut. Returns whether there is more. */
  continue(bytes: Uint8Array, until: number): boolean {
    const { maxNesting, exactNumbers, pieceBytes } = this.#options;
    const open = this.#open;
    const end = Math.min(until, bytes.length);
    const words = wordsOf(bytes);
    // All that changes from byte to byte is local: members of an object take twice the time.
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

/** An array or object that is open; `item` and `cutsFrom` are those where it goes on. */
class Level {
  start = 0;
  item = 0;
  cutsFrom = Infinity;
  /** Where the piece begins that is looked at. */
  #piece = 0;
  /** Where the large value of that piece starts. */
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

  /** What is looked at has a large value: it is a piece by itself. */
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

/** Four bytes at a time; none where they don't begin at a multiple of four. */
function wordsOf({ buffer, byteOffset, length }: Uint8Array): Int32Array {
  return byteOffset % 4 === 0 ? new Int32Array(buffer, byteOffset, length >> 2) : NO_WORDS;
}

/**
 * Where the next quote or backslash is, or the end: strings are most of a text, and so are skipped four bytes at a
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
    // Taking one from each byte borrows from above only where one is zero.
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

function codesOf(characters: string): number[] {
  return [...characters].map((character) => character.charCodeAt(0));
}
