import { isUtf8 } from 'node:buffer';
import { parseExactJson } from '../domain/exact-json.ts';
import { refuseField } from '../domain/refusal.ts';
import { findJsonFault } from './json-fault.ts';

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\[]{}');
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
  if (nestingOf(bytes) > mostNesting) return refuseField('body', `must not nest deeper than ${mostNesting} levels`);
  const json = bytes.toString().replace(/^\uFEFF/, '');
  try {
    if (exactNumbers) return parseExactJson(json);
    return PROTO.test(json)
      ? JSON.parse(json, (key, value: unknown) => (key === '__proto__' ? undefined : value))
      : JSON.parse(json);
  } catch {
    const { position, line, column } = findJsonFault(json);
    return refuseField('body', `is not valid JSON at position ${position} (line ${line}, column ${column})`);
  }
}

/** How deep arrays and objects nest; brackets within strings don't count. */
function nestingOf(bytes: Buffer): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) deepest = Math.max(deepest, depth += 1);
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
  }
  return deepest;
}

function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
