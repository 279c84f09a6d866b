/** Parses large JSON texts in pieces, so that other work gets its turn. */
import { exactNumber } from './exact-json.ts';
import { type JsonPiece, JsonScan, type LargeJson, skipSpace } from './scan-json.ts';

/** Number of bytes that are parsed or scanned in one go. */
const PIECE_BYTES = 128 * 1024;
/** Start of a string that replaces a number. UTF-8 cannot contain it, so only a text that escapes it begins with it. */
const NUMBER_MARK = '\uDFFF\uDFFF';
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const OPEN_BRACE = '{'.charCodeAt(0);

export type ParseOptions = {
  maxNesting: number;
  /** Keeps the digits of numbers, as `parseExactJson` does. */
  exactNumbers?: boolean;
  /**
   * Treatment of members named `__proto__`, however they are spelled: left out (the default), refused with a
   * `ProtoError`, or kept as own members.
   */
  proto?: 'leave out' | 'refuse' | 'keep' | undefined;
};

export class NestingError extends Error {}

/** A member is named `__proto__`, which in careless code changes an object's prototype. */
export class ProtoError extends Error {
  override readonly name = 'ProtoError';
}

export const SAY_PROTO = 'must not have a member named __proto__';

/**
 * Throws a `NestingError` for a JSON text whose arrays and objects nest deeper than `maxNesting`. Costs little for a
 * text with few of them.
 */
export function checkNesting(text: string, maxNesting: number): void {
  if (!hasMoreOpened(text, maxNesting)) return;
  const scan = new JsonScan({ maxNesting, exactNumbers: false, pieceBytes: Infinity });
  scan.continue(Buffer.from(text), Infinity);
  if (scan.nesting > maxNesting) throw new NestingError();
}

/** Returns whether a text has enough brackets and braces to nest deeper than `levels`. */
function hasMoreOpened(text: string, levels: number): boolean {
  let opened = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1 && opened <= levels; at = text.indexOf(bracket, at + 1)) opened += 1;
  }
  return opened > levels;
}

/**
 * Parses a JSON text in UTF-8, at little more than the cost of JSON.parse. Yields after every few milliseconds of work.
 * Throws a `NestingError` before anything is parsed, a `SyntaxError`, or a `ProtoError`.
 */
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

/** Parses a short text at once. */
export function parseJsonAtOnce(bytes: Buffer, options: ParseOptions): unknown {
  const parsing = parseJson(bytes, options);
  for (;;) {
    const { done, value } = parsing.next();
    if (done) return value;
  }
}

type Proto = NonNullable<ParseOptions['proto']>;
type Large = ReadonlyMap<number, LargeJson>;

/** Parses an array or object piece by piece. */
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

/** Parses an array or object whose one item has a large value. */
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

/** Parses pieces of a text, in their order. */
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

/**
 * Returns the value, changed in place: marked strings become numbers, and members named `__proto__` go unless they are
 * kept.
 */
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
