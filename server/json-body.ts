import { isUtf8 } from 'node:buffer';
import { parseExactJson } from '../domain/exact-json.ts';
import { refuseField } from '../domain/refusal.ts';
import { findJsonFault } from './json-fault.ts';

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\[]{}');
const [MINUS, PLUS, POINT, ZERO, NINE, E, CAPITAL_E] = Buffer.from('-+.09eE');
/** A double keeps every number of so many digits, and writes it alike. */
const MOST_PLAIN_DIGITS = 15;
/** `__proto__` as a member's name, however it is spelled. */
const PROTO = /__proto__|\\u00/i;

/**
 * The value of a JSON body; undefined for an empty one. Refused: bytes that are not UTF-8, nesting deeper than
 * `mostNesting` (checked before parsing) and whatever is not JSON, with its place. Members named `__proto__`
 * are left out. With `exactNumbers` numbers keep their digits (`parseExactJson`).
 */
export function parseJsonBody(bytes: Buffer, mostNesting: number, { exactNumbers = false } = {}): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) return refuseField('body', 'must be UTF-8');
  const { nesting, mayRound } = lookOver(bytes);
  if (nesting > mostNesting) return refuseField('body', `must not nest deeper than ${mostNesting} levels`);
  const json = bytes.toString().replace(/^\uFEFF/, '');
  try {
    if (exactNumbers) return parseExactJson(json, mayRound);
    return PROTO.test(json)
      ? JSON.parse(json, (key, value: unknown) => (key === '__proto__' ? undefined : value))
      : JSON.parse(json);
  } catch {
    const { position, line, column } = findJsonFault(json);
    return refuseField('body', `is not valid JSON at position ${position} (line ${line}, column ${column})`);
  }
}

/**
 * How deep arrays and objects nest, and whether some number may not come out of a double as it went in (`parseExactJson`):
 * what stands within strings doesn't count.
 */
function lookOver(bytes: Buffer): { nesting: number; mayRound: boolean } {
  let depth = 0;
  let nesting = 0;
  let mayRound = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) nesting = Math.max(nesting, depth += 1);
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
    else if (byte === MINUS || isDigit(byte)) {
      const end = endOfNumber(bytes, at);
      mayRound ||= !isPlainNumber(bytes, at, end);
      at = end - 1;
    }
  }
  return { nesting, mayRound };
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO! && byte <= NINE!;
}

/** Whatever is of a number, also of one that is none: the parser refuses it. */
function endOfNumber(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (isDigit(bytes[at]) || bytes[at] === POINT || bytes[at] === MINUS || bytes[at] === PLUS || bytes[at] === E
    || bytes[at] === CAPITAL_E) at += 1;
  return at;
}

/** A double's text is the same: short, no exponent, no zero at the end behind a point, neither tiny nor -0. */
function isPlainNumber(bytes: Buffer, start: number, end: number): boolean {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (end - first > MOST_PLAIN_DIGITS) return false;
  let point = -1;
  for (let at = first; at < end; at += 1) {
    if (bytes[at] === POINT) point = at;
    else if (!isDigit(bytes[at])) return false;
  }
  if (point === -1) return !isNegative || bytes[first] !== ZERO;
  const mayBeTiny = bytes[first] === ZERO && bytes[point + 1] === ZERO;
  return !mayBeTiny && bytes[end - 1] !== ZERO;
}

function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
