/** Reads the calls and batches of Segment's tracking API. */

import { isObject } from '../json/exact-json.ts';
import { SAY_PROTO } from '../json/parse-json.ts';
import { mostJsonBytes } from '../json/plain-json.ts';
import { isLongerThan, MAX_CODE_POINTS, shorten, storable } from '../text/text-limits.ts';
import { mergeContexts, partOf, readContext } from './call-context.ts';
import { readEvent, type Sha256 } from './call-event.ts';
import {
  type CallError,
  type Fields,
  fieldsOf,
  invalid,
  isAbsent,
  isCallError,
  readSubject,
  textOrNumber,
} from './call-fields.ts';
import { type CallTimes, readDeviceTime, readHappenedAt } from './call-time.ts';
import { readTraits } from './call-traits.ts';
import { CALL_TYPES, type CallType, type RefusedCall, type Call } from './call.ts';

/** Maximum size of a call as JSON. */
const MAX_CALL_BYTES = 32 * 1024;
/** Maximum nesting of arrays and objects in a call. */
const MAX_NESTING = 64;

export type ReadBy = CallTimes & {
  sha256: Sha256;
  /** The batch's context, which lies beneath each call's own. */
  batchContext?: Fields;
  /** The type of a path for single calls; it goes before the call's own. */
  type?: CallType;
};

/**
 * Reads a call, as `parseExactJson` gives it. Refuses it with the first error, in this order: shape and size,
 * `messageId`, `type`, `context`, ids, time, event, traits. Skips malformed members of the context, and members that
 * the API lacks.
 */
export function readCall(given: unknown, index: number, by: ReadBy): { call: Call } | { refused: RefusedCall } {
  const fields = isObject(given) ? given : {};
  const outcome = shapeError(given) ?? readFields(fields, index, by);
  if (!isCallError(outcome)) return { call: outcome };
  return { refused: { index, messageId: shownMessageId(fields.messageId), ...outcome } };
}

function shapeError(given: unknown): CallError | undefined {
  if (!isObject(given)) return { code: 'invalid', message: 'a call must be an object' };
  const atMost = mostJsonBytes(given, MAX_NESTING);
  if (Number.isNaN(atMost)) return { code: 'invalid', message: `a call ${SAY_PROTO}` };
  if (atMost === Infinity)
    return { code: 'invalid', message: `a call must not nest deeper than ${MAX_NESTING} levels` };
  const bytes = atMost <= MAX_CALL_BYTES ? atMost : Buffer.byteLength(JSON.stringify(given));
  return bytes <= MAX_CALL_BYTES
    ? undefined
    : { code: 'too_large', message: `a call must have at most ${MAX_CALL_BYTES} bytes as JSON, not ${bytes}` };
}

function readFields(fields: Fields, index: number, by: ReadBy): Call | CallError {
  const message = readMessageId(fields.messageId);
  if (isCallError(message)) return message;
  const typed = readType(by.type ?? fields.type);
  if (isCallError(typed)) return typed;
  const merged = mergeContexts(fields.context, by.batchContext);
  if (isCallError(merged)) return merged;
  const { context } = merged;
  const subject = readSubject(typed.type, fields, partOf(context, 'device'));
  if (isCallError(subject)) return subject;
  const time = readHappenedAt(fields, by);
  if (isCallError(time)) return time;
  const read = readEvent(typed.type, fields, by.sha256);
  if (isCallError(read)) return read;
  const person = readTraits(typed.type, fields, context.traits);
  if (isCallError(person)) return person;
  // Named one by one: spreading takes several times as long.
  return {
    index,
    messageId: message.messageId,
    type: typed.type,
    happenedAt: time.happenedAt,
    note: time.note,
    userId: subject.userId,
    deviceId: subject.deviceId,
    event: read.event,
    context: readContext(context, time.happenedAt),
    traits: person.traits,
    previousId: subject.previousId,
  };
}

function readMessageId(value: unknown): { messageId: string | null } | CallError {
  if (isAbsent(value)) return { messageId: null };
  const messageId = textOrNumber(value);
  if (messageId === undefined) return invalid('messageId', 'must be a text');
  if (isLongerThan(messageId, MAX_CODE_POINTS))
    return invalid('messageId', `must have at most ${MAX_CODE_POINTS} characters`);
  return { messageId: storable(messageId) };
}

function shownMessageId(value: unknown): string | null {
  const text = textOrNumber(value);
  return text === undefined || text === '' ? null : shorten(text, MAX_CODE_POINTS);
}

function readType(value: unknown): { type: CallType } | CallError {
  const type = CALL_TYPES.find((known) => known === value);
  return type === undefined ? invalid('type', `must be one of ${CALL_TYPES.join(', ')}`) : { type };
}

/** Maximum number of calls in a batch. */
const MAX_CALLS = 2_500;
/**
 * Maximum size of the batch's context as JSON, times its number of calls: it is read, and its traits are written, for
 * each.
 */
const MAX_SHARED_BYTES = 2 * 1024 * 1024;

export type CallBatch = {
  /** When the sender sent it, by its own clock, in ms since the epoch. */
  sentAt: number | null;
  /** Stands in the body if there is no Basic authentication. */
  writeKey: string | null;
  /** Lies beneath the context of each call. */
  context: Fields;
  /** Not yet read by `readCall`. */
  calls: unknown[];
};

/**
 * Reads the body of a batch (Segment's HTTP tracking API: Batch), as `parseExactJson` gives it. Refuses the whole batch
 * only for an error of its own; a call's error refuses that call.
 */
export function readBatch(body: unknown): { batch: CallBatch } | { refused: CallError } {
  const read = readMembers(body);
  return isCallError(read) ? { refused: read } : { batch: read };
}

function readMembers(body: unknown): CallBatch | CallError {
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
