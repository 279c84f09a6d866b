import { exactNumber } from './exact-json.ts';
import { type JsonPiece, JsonScan, type LargeJson, skipSpace } from './scan-json.ts';

/** How much is parsed, or looked over, in one go. */
const PIECE_BYTES = 128 * 1024;
/**
 * Begins a string that stands for a number. UTF-8 can't spell it, so of all texts only one that escapes it begins so.
 */
const NUMBER_MARK = '\uDFFF\uDFFF';
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const OPEN_BRACE = '{'.charCodeAt(0);

export type ParseOptions = {
  maxNesting: number;
  /** Numbers keep their digits, as those of `parseExactJson`. */
  exactNumbers?: boolean;
  /**
   * The treatment of members named `__proto__`, however they are spelled: they are left out, the text is refused with a
   * `ProtoError`, or they are kept as members of their own. By default they are left out.
   */
  proto?: 'leave out' | 'refuse' | 'keep' | undefined;
};

export class NestingError extends Error {}

/** A member is named `__proto__`, by which careless code would change an object's prototype. */
export class ProtoError extends Error {
  override readonly name = 'ProtoError';
}

/** How a refusal says it. */
export const SAY_PROTO = 'must not have a member named __proto__';

/**
 * Throws a `NestingError` for a JSON text whose arrays and objects nest deeper. It costs little for a text with few of
 * them.
 */
export function checkNesting(text: string, maxNesting: number): void {
  if (!hasMoreOpened(text, maxNesting)) return;
  const scan = new JsonScan({ maxNesting, exactNumbers: false, pieceBytes: Infinity });
  scan.continue(Buffer.from(text), Infinity);
  if (scan.nesting > maxNesting) throw new NestingError();
}

/** Whether so many brackets and braces stand in a text that it may nest deeper than `levels`. */
function hasMoreOpened(text: string, levels: number): boolean {
  let opened = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1 && opened <= levels; at = text.indexOf(bracket, at + 1)) opened += 1;
  }
  return opened > levels;
}

/**
 * The value of a JSON text in UTF-8, for little more than JSON.parse costs. Yields after each piece of work of a few
 * milliseconds, so that a caller may let others go between. Throws a `NestingError` before anything is parsed, a
 * `SyntaxError`, and a `ProtoError`.
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

/** The same at once, for short texts. */
export function parseJsonAtOnce(bytes: Buffer, options: ParseOptions): unknown {
  const parsing = parseJson(bytes, options);
  for (;;) {
    const { done, value } = parsing.next();
    if (done) return value;
  }
}

type Proto = NonNullable<ParseOptions['proto']>;
type Large = ReadonlyMap<number, LargeJson>;

/** An array or object whose pieces are parsed one by one. */
function* parseLarge(text: JsonText, { start, end, pieces }: LargeJson, large: Large): Generator<void, unknown> {
  const { bytes } = text;
  const isObject = bytes[start] === OPEN_BRACE;
  const [open, close] = isObject ? ['{', '}'] : ['[', ']'];
  if (bytes[end - 1] !== close.charCodeAt(0)) throw new SyntaxError();
  const object: Record<string, unknown> = {};
  const arrays: unknown[][] = [];
  for (const piece of pieces) {
    // Nothing between two commas.
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

/** As Object.assign, but a member named `__proto__` stays one. */
function addMembers(object: Record<string, unknown>, more: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(more)) {
    if (name === '__proto__')
      Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
    else object[name] = value;
  }
}

/** The array or object with one item, whose value is large. */
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
  /** Of those that a double may not keep: starts and ends, in turns. */
  readonly #numbers: readonly number[];
  /** `keep` also where there can be no such member. */
  readonly #proto: Proto;
  #nextNumber = 0;

  constructor(bytes: Buffer, numbers: readonly number[], proto: Proto) {
    this.bytes = bytes;
    this.#numbers = numbers;
    this.#proto = proto;
  }

  /** Throws a `SyntaxError`. */
  parse(before: string, start: number, end: number, after: string): unknown {
    const first = this.#nextNumber;
    const hasNumbers = this.#numbers[first]! < end;
    // What is to stand around a piece, one character each, has its place in the bytes: a piece lies within brackets or
    // commas.
    const isPiece = before.length === 1 && after.length === 1;
    const text =
      isPiece && !hasNumbers ? this.#enclosed(before, start, end, after) : before + this.#marked(start, end) + after;
    const value = JSON.parse(text) as unknown;
    return this.#proto !== 'keep' || this.#nextNumber > first ? withoutMarks(value, this.#proto) : value;
  }

  /**
   * Two characters of ASCII stand in for those around, for as long as the text is read: it need not be copied again to
   * get them.
   */
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
      if (!NUMBER.test(digits)) continue; // JSON.parse will say so
      marked += `${this.bytes.toString('utf8', at, from)}"${NUMBER_MARK}${digits}"`;
      at = to;
    }
    return marked + this.bytes.toString('utf8', at, end);
  }
}

/**
 * The same value, changed in place: with numbers where marked strings are, and without members named `__proto__` unless
 * they are kept.
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
