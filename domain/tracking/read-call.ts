import { SAY_PROTO } from '../core/parse-json.ts';
import { mostJsonBytes } from '../core/plain-json.ts';
import { isLongerThan, MAX_CODE_POINTS, shorten, storable } from '../core/text-limits.ts';
import { type CallTimes, readHappenedAt } from './call-clock.ts';
import { mergeContexts, partOf, readContext } from './call-context.ts';
import { readEvent } from './call-event.ts';
import { type CallError, type Fields, invalid, isAbsent, isCallError, isObject, textOrNumber } from './call-fields.ts';
import { readSubject } from './call-subject.ts';
import { readTraits } from './call-traits.ts';
import type { Sha256 } from './crash-report.ts';
import { CALL_TYPES, type CallType, type RefusedCall, type TrackedCall } from './tracked-call.ts';

/** A call is at most so long, as JSON. */
const MAX_CALL_BYTES = 32 * 1024;
/** Arrays and objects in a call nest at most so deep. */
export const MAX_NESTING = 64;

export type ReadBy = CallTimes & {
  sha256: Sha256;
  /** What stands beneath each call's own context, of `readBatch`. */
  batchContext?: Fields;
  /** Of a path for single calls: it goes before what the call says of itself. */
  type?: CallType;
};

/**
 * Reads a call of Segment's tracking API, as `parseExactJson` gives it. It is refused with the first thing that is
 * wrong with it, in this order: shape and size, `messageId`, `type`, `context`, whom it is of, when it happened, its
 * event, its traits. What a context tells in a form that it shouldn't have is passed over, and so is what the API
 * doesn't know.
 */
export function readCall(given: unknown, index: number, by: ReadBy): { call: TrackedCall } | { refused: RefusedCall } {
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

function readFields(fields: Fields, index: number, by: ReadBy): TrackedCall | CallError {
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
  const told = readEvent(typed.type, fields, by.sha256);
  if (isCallError(told)) return told;
  const person = readTraits(typed.type, fields, context.traits);
  if (isCallError(person)) return person;
  // Each by its name: spreading them takes several times as long.
  return {
    index,
    messageId: message.messageId,
    type: typed.type,
    happenedAt: time.happenedAt,
    note: time.note,
    userId: subject.userId,
    deviceId: subject.deviceId,
    event: told.event,
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
