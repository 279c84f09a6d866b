import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sayNesting } from '../../domain/core/json-size.ts';
import { NestingError, parseJson, type ParseOptions, ProtoError, SAY_PROTO } from '../../domain/core/parse-json.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import { findJsonError } from './json-error.ts';

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
/** How long others wait for the event loop. */
const MAX_TURN_MS = 10;

/**
 * The value of a JSON body; undefined for an empty one. Refused: bytes that are not UTF-8, nesting deeper than
 * `maxNesting` (checked before parsing), whatever is not JSON, with its place, and with `proto: 'refuse'` members named
 * `__proto__`. With
 * `exactNumbers` numbers keep their digits (`parseExactJson`). A large one leaves the event loop to others between.
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

/**
 * Does work whose pieces take a few milliseconds each; once they have taken long together others have the event loop.
 */
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
