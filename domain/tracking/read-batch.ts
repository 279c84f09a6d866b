import { SAY_PROTO } from '../core/parse-json.ts';
import { mostJsonBytes } from '../core/plain-json.ts';
import { type CallError, type Fields, fieldsOf, invalid, isCallError, isObject } from './call-fields.ts';
import { readDeviceTime } from './device-time.ts';
import { MAX_NESTING } from './read-call.ts';

/** Most calls of a batch. */
const MAX_CALLS = 2_500;
/**
 * Most bytes of the batch's context as JSON, taken once for each call: so often it is read, and its traits are written.
 */
const MAX_SHARED_BYTES = 2 * 1024 * 1024;

export type TrackedBatch = {
  /** When it was sent by the sender's clock, in ms since the epoch. */
  sentAt: number | null;
  /** What may stand in the body in place of Basic authentication. */
  writeKey: string | null;
  /** Stands beneath the context of each call. */
  context: Fields;
  /** Each for `readCall`. */
  calls: unknown[];
};

/**
 * Reads the body of a batch (Segment's HTTP tracking API: Batch), as `parseExactJson` gives it. Its refusal is for the
 * batch as a whole; what is wrong with a call is that call's.
 */
export function readBatch(body: unknown): { batch: TrackedBatch } | { refused: CallError } {
  const read = readMembers(body);
  return isCallError(read) ? { refused: read } : { batch: read };
}

function readMembers(body: unknown): TrackedBatch | CallError {
  if (!isObject(body)) return invalid('body', 'must be an object with the calls as its array batch');
  const { batch: calls, writeKey } = body;
  if (!Array.isArray(calls)) return invalid('batch', 'must be an array of calls');
  if (calls.length > MAX_CALLS) {
    return { code: 'too_large', message: `batch: must have at most ${MAX_CALLS} calls, not ${calls.length}` };
  }
  const sentAt = readDeviceTime('sentAt', body.sentAt);
  if (isCallError(sentAt)) return sentAt;
  const context = fieldsOf(body.context);
  if (context === undefined) return invalid('context', 'must be an object');
  const error = contextError(context, calls.length);
  if (error) return error;
  return {
    sentAt: sentAt.ms,
    writeKey: typeof writeKey === 'string' && writeKey !== '' ? writeKey : null,
    context,
    calls,
  };
}

function contextError(context: Fields, calls: number): CallError | undefined {
  const atMost = mostJsonBytes(context, MAX_NESTING);
  if (Number.isNaN(atMost)) return invalid('context', SAY_PROTO);
  if (atMost === Infinity) return invalid('context', `must not nest deeper than ${MAX_NESTING} levels`);
  const limit = MAX_SHARED_BYTES / Math.max(calls, 1);
  if (atMost <= limit || Buffer.byteLength(JSON.stringify(context)) <= limit) return undefined;
  const most = `${Math.floor(limit)} bytes as JSON beneath ${calls} calls`;
  return {
    code: 'too_large',
    message: `context: must have at most ${most}: send smaller batches, or a smaller context`,
  };
}
