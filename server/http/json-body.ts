/** Parses JSON bodies: exact errors, limited nesting, no long pause for other requests. */
import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sayNesting } from '../../domain/json/json-size.ts';
import { NestingError, parseJson, type ParseOptions, ProtoError, SAY_PROTO } from '../../domain/json/parse-json.ts';
import { refuseField } from '../../domain/core/refusal.ts';

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
const MAX_TURN_MS = 10;

/**
 * Returns the value of a JSON body; undefined for an empty one. Refuses bytes that are not UTF-8, nesting deeper than
 * `maxNesting` (before parsing), invalid JSON, with its position, and with `proto: 'refuse'` members named `__proto__`.
 * With `exactNumbers` numbers keep their digits (`parseExactJson`). Yields to the event loop during a large body.
 */
export async function parseJsonBody(
  bytes: Buffer,
  maxNesting: number,
  { exactNumbers = false, proto }: { exactNumbers?: boolean | undefined; proto?: ParseOptions['proto'] } = {},
): Promise<unknown> {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) return refuseField('body', 'must be UTF-8');
  const json = bytes.indexOf(BYTE_ORDER_MARK) === 0 ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  try {
    return await inTurns(parseJson(json, { maxNesting, exactNumbers, proto }));
  } catch (error) {
    if (error instanceof NestingError) return refuseField('body', sayNesting(maxNesting));
    if (error instanceof ProtoError) return refuseField('body', SAY_PROTO);
    if (!(error instanceof SyntaxError)) throw error;
    const { position, line, column } = await inTurns(findJsonError(json.toString()));
    return refuseField('body', `is not valid JSON at position ${position} (line ${line}, column ${column})`);
  }
}

/** Does work in pieces, and yields to the event loop after MAX_TURN_MS. */
async function inTurns<T>(work: Generator<void, T>): Promise<T> {
  for (let began = performance.now(); ;) {
    const step = work.next();
    if (step.done) return step.value;
    if (performance.now() - began > MAX_TURN_MS) {
      await nextTurn();
      began = performance.now();
    }
  }
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

const TOKENS_AT_ONCE = 10_000;

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end';

/** Returns where JSON ends (RFC 8259), line and column from 1: the engine's errors rarely do, and quote the text. */
export function* findJsonError(json: string): Generator<void, { position: number; line: number; column: number }> {
  const position = yield* scanJson(json);
  const before = json.slice(0, position);
  const line = before.split('\n').length;
  return { position, line, column: position - before.lastIndexOf('\n') };
}

function* scanJson(json: string): Generator<void, number> {
  const open: ('}' | ']')[] = [];
  let expected: Expected = 'value';
  let tokens = 0;
  for (let at = skip(SPACE, json, 0)!; ; at = skip(SPACE, json, at)!) {
    tokens += 1;
    if (tokens % TOKENS_AT_ONCE === 0) yield;
    const char = json[at];
    if (char === undefined) return at;
    if (expected === ':') {
      if (char !== ':') return at;
      expected = 'value';
      at += 1;
    } else if (char === open.at(-1) && (expected === ', or end' || expected.endsWith(` or ${char}`))) {
      open.pop();
      expected = ', or end';
      at += 1;
    } else if (expected === ', or end') {
      if (char !== ',' || open.length === 0) return at;
      expected = open.at(-1) === '}' ? 'key' : 'value';
      at += 1;
    } else if (expected === 'key' || expected === 'key or }') {
      const end = char === '"' ? skipString(json, at) : { error: at };
      if ('error' in end) return end.error;
      at = end.after;
      expected = ':';
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']');
      expected = char === '{' ? 'key or }' : 'value or ]';
      at += 1;
    } else {
      const end = char === '"' ? skipString(json, at) : skipScalar(json, at);
      if ('error' in end) return end.error;
      at = end.after;
      expected = ', or end';
    }
  }
}

type End = { after: number } | { error: number };

function skipString(json: string, start: number): End {
  let at = start + 1;
  while (at < json.length) {
    if (json[at] === '"') return { after: at + 1 };
    if (json.charCodeAt(at) < 0x20) return { error: at };
    if (json[at] !== '\\') {
      at += 1;
      continue;
    }
    const after = skip(ESCAPE, json, at);
    if (after === undefined) return { error: at };
    at = after;
  }
  return { error: at };
}

function skipScalar(json: string, start: number): End {
  const after = skip(SCALAR, json, start);
  return after === undefined ? { error: start } : { after };
}

function skip(pattern: RegExp, json: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(json) ? pattern.lastIndex : undefined;
}
