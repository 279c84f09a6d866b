/** Parses large JSON texts in pieces, so that other work gets its turn. */
import { exactNumber } from './exact-json.ts';

const PIECE_BYTES = 128 * 1024;
/** Start of a string that replaces a number. UTF-8 cannot contain it, so only a text that escapes it begins with it. */
const NUMBER_MARK = '\uDFFF\uDFFF';
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export type ParseOptions = {
  maxNesting: number;
  /** Keeps the digits of numbers, as `parseExactJson` does. */
  exactNumbers?: boolean;
  /** Treatment of members named `__proto__`, however they are spelled; by default they are left out. */
  proto?: 'leave out' | 'refuse' | 'keep' | undefined;
};

export class NestingError extends Error {}

/** A member is named `__proto__`, which in careless code changes an object's prototype. */
export class ProtoError extends Error {
  override readonly name = 'ProtoError';
}

export const SAY_PROTO = 'must not have a member named __proto__';

/** Throws `NestingError` for a text that nests deeper than `maxNesting`. Costs little for a text with few brackets. */
export function checkNesting(text: string, maxNesting: number): void {
  if (!hasMoreOpened(text, maxNesting)) return;
  const scan = new JsonScan({ maxNesting, exactNumbers: false, pieceBytes: Infinity });
  scan.continue(Buffer.from(text), Infinity);
  if (scan.nesting > maxNesting) throw new NestingError();
}

function hasMoreOpened(text: string, levels: number): boolean {
  let opened = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1 && opened <= levels; at = text.indexOf(bracket, at + 1)) opened += 1;
  }
  return opened > levels;
}

/** Parses JSON, and yields every few ms. Throws a `NestingError` before parsing, a `SyntaxError` or a `ProtoError`. */
export function* parseJson(
  bytes: Buffer,
  { maxNesting, exactNumbers = false, proto = 'leave out' }: ParseOptions,
): Generator<void, unknown> {
  const scan = new JsonScan({ maxNesting, exactNumbers, pieceBytes: PIECE_BYTES });
  for (let until = PIECE_BYTES; scan.continue(bytes, until); until += PIECE_BYTES) yield;
  if (scan.nesting > maxNesting) throw new NestingError();
  const mayHaveProto =
    (scan.hasUnderscored && bytes.includes('__proto__')) || (scan.hasEscapes && bytes.includes('\\u00'));
  const text = new JsonText(bytes, scan.inexact, mayHaveProto ? proto : 'keep');
  const start = skipSpace(bytes, 0);
  const whole = scan.large.get(start);
  if (whole === undefined) return text.parse('', 0, bytes.length, '');
  if (skipSpace(bytes, whole.end) !== bytes.length) throw new SyntaxError();
  return yield* parseLarge(text, whole, scan.large);
}

export function parseJsonAtOnce(bytes: Buffer, options: ParseOptions): unknown {
  const parsing = parseJson(bytes, options);
  for (;;) {
    const { done, value } = parsing.next();
    if (done) return value;
  }
}

type Proto = NonNullable<ParseOptions['proto']>;
type Large = ReadonlyMap<number, LargeJson>;

function* parseLarge(text: JsonText, { start, end, pieces }: LargeJson, large: Large): Generator<void, unknown> {
  const { bytes } = text;
  const isObject = bytes[start] === OPEN_BRACE;
  const [open, close] = isObject ? ['{', '}'] : ['[', ']'];
  if (bytes[end - 1] !== close.charCodeAt(0)) throw new SyntaxError();
  const object: Record<string, unknown> = {};
  const arrays: unknown[][] = [];
  for (const piece of pieces) {
    // Two commas with nothing between them.
    if (pieces.length > 1 && skipSpace(bytes, piece.start) >= piece.end) throw new SyntaxError();
    const parsed =
      piece.large === null
        ? text.parse(open, piece.start, piece.end, close)
        : yield* parseItem(text, piece, large.get(piece.large)!, [open, close], large);
    if (isObject) addMembers(object, parsed as Record<string, unknown>);
    else arrays.push(parsed as unknown[]);
    yield;
  }
  return isObject ? object : ([] as unknown[]).concat(...arrays);
}

/** Adds members as Object.assign does, but keeps a member named `__proto__`. */
function addMembers(object: Record<string, unknown>, more: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(more)) {
    if (name === '__proto__')
      Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
    else object[name] = value;
  }
}

function* parseItem(
  text: JsonText,
  piece: JsonPiece,
  value: LargeJson,
  [open, close]: readonly [string, string],
  large: Large,
): Generator<void, unknown> {
  const item = text.parse(open, piece.start, value.start, `0${close}`) as unknown[] | Record<string, unknown>;
  const parsed = yield* parseLarge(text, value, large);
  if (skipSpace(text.bytes, value.end) !== piece.end) throw new SyntaxError();
  for (const name of Object.keys(item)) (item as Record<string, unknown>)[name] = parsed;
  return item;
}

class JsonText {
  readonly bytes: Buffer;
  /** Starts and ends, in turns, of numbers that a double may not keep. */
  readonly #numbers: readonly number[];
  /** `keep` also if the text has no such member. */
  readonly #proto: Proto;
  #nextNumber = 0;

  constructor(bytes: Buffer, numbers: readonly number[], proto: Proto) {
    this.bytes = bytes;
    this.#numbers = numbers;
    this.#proto = proto;
  }

  parse(before: string, start: number, end: number, after: string): unknown {
    const first = this.#nextNumber;
    const hasNumbers = this.#numbers[first]! < end;
    // The characters around a piece replace bytes of the text: a piece lies within brackets or commas.
    const isPiece = before.length === 1 && after.length === 1;
    const text =
      isPiece && !hasNumbers ? this.#enclosed(before, start, end, after) : before + this.#marked(start, end) + after;
    const value = JSON.parse(text) as unknown;
    return this.#proto !== 'keep' || this.#nextNumber > first ? withoutMarks(value, this.#proto) : value;
  }

  /** Writes two ASCII characters around a piece while it is read, so that it is not copied. */
  #enclosed(before: string, start: number, end: number, after: string): string {
    const { bytes } = this;
    const [left, right] = [bytes[start - 1]!, bytes[end]!];
    bytes[start - 1] = before.charCodeAt(0);
    bytes[end] = after.charCodeAt(0);
    const text = bytes.toString('utf8', start - 1, end + 1);
    bytes[start - 1] = left;
    bytes[end] = right;
    return text;
  }

  #marked(start: number, end: number): string {
    const numbers = this.#numbers;
    let marked = '';
    let at = start;
    for (; numbers[this.#nextNumber]! < end; this.#nextNumber += 2) {
      const [from, to] = [numbers[this.#nextNumber]!, numbers[this.#nextNumber + 1]!];
      const digits = this.bytes.toString('latin1', from, to);
      if (!NUMBER.test(digits)) continue; // JSON.parse refuses it
      marked += `${this.bytes.toString('utf8', at, from)}"${NUMBER_MARK}${digits}"`;
      at = to;
    }
    return marked + this.bytes.toString('utf8', at, end);
  }
}

/** Changes a value in place: marked strings become numbers, and `__proto__` members go unless kept. */
function withoutMarks(value: unknown, proto: Proto): unknown {
  if (typeof value === 'string') return value.startsWith(NUMBER_MARK) ? numberOf(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) value[index] = withoutMarks(element, proto);
    return value;
  }
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    if (name === '__proto__' && proto === 'refuse') throw new ProtoError();
    if (name === '__proto__' && proto === 'leave out') delete members[name];
    else members[name] = withoutMarks(members[name], proto);
  }
  return value;
}

function numberOf(marked: string): unknown {
  const digits = marked.slice(NUMBER_MARK.length);
  if (!NUMBER.test(digits)) return marked;
  return String(Number(digits)) === digits ? Number(digits) : exactNumber(digits);
}

/** Scans a JSON text before it is parsed: its depth, its large values, and numbers that need care. */

const [QUOTE, BACKSLASH, COMMA, COLON, UNDERSCORE] = codesOf('"\\,:_');
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = codesOf('[]{}');
const [MINUS, PLUS, POINT, ZERO, NINE, E, CAPITAL_E] = codesOf('-+.09eE');
const [QUOTES, BACKSLASHES] = [0x22222222, 0x5c5c5c5c];
const NO_WORDS = new Int32Array(0);
const [SPACE, TAB, LINE_FEED, RETURN] = codesOf(' \t\n\r');

/** Digits that a double always keeps and writes in the same way. */
const MAX_PLAIN_DIGITS = 15;

type ScanOptions = {
  maxNesting: number;
  exactNumbers: boolean;
  /** Size in bytes above which arrays and objects are cut into pieces of about this size. */
  pieceBytes: number;
};

/** Consecutive items without the commas around them, or a single one whose large value starts at `large`. */
type JsonPiece = { start: number; end: number; large: number | null };

type LargeJson = { start: number; end: number; pieces: JsonPiece[] };

/** Scans a JSON text, perhaps invalid, before anything is parsed; it costs less than JSON.parse. */
class JsonScan {
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
  #item = 0;
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

/** Returns the index of the next quote or backslash, or the end; skips four bytes at a time. */
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

function skipSpace(bytes: Uint8Array, from: number): number {
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

/** Returns whether a double has the same text: short, no exponent or zero at the end, neither tiny nor -0. */
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
