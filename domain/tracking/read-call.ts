/** Reads the calls and batches of Segment's tracking API: ids, time by the server's clock, event, traits. */

import { isObject } from '../json/exact-json.ts';
import { SAY_PROTO } from '../json/parse-json.ts';
import { mostJsonBytes, type Json, plainJson } from '../json/plain-json.ts';
import { isLongerThan, MAX_CODE_POINTS, shorten, storable } from '../text/text-limits.ts';
import { readContext } from './call-context.ts';
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
import { readDeviceTime, type DeviceTime } from './call-time.ts';
import { readTraits } from './call-traits.ts';
import { CALL_TYPES, type CallType, type RefusedCall, type Call, type CallEvent } from './call.ts';

const MAX_CALL_BYTES = 32 * 1024;
const MAX_NESTING = 64;

export type ReadBy = CallTimes & {
  sha256: Sha256;
  /** The batch's context, which lies beneath each call's own. */
  batchContext?: Fields;
  /** The type of a path for single calls; it goes before the call's own. */
  type?: CallType;
};

/** Reads a call of `parseExactJson`, or refuses it with its first error. Skips malformed members of the context. */
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
  const subject = readSubject(typed.type, fields, fieldsOf(context.device) ?? {});
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

/** Lays a call's context over its batch's. If both have an object, its members are merged and the call's go first. */
function mergeContexts(given: unknown, ofBatch: Fields = {}): { context: Fields } | CallError {
  const own = fieldsOf(given);
  if (own === undefined) return invalid('context', 'must be an object');
  const context: Record<string, unknown> = { ...ofBatch };
  for (const [name, value] of Object.entries(own)) {
    const beneath = context[name];
    context[name] = isObject(value) && isObject(beneath) ? { ...beneath, ...value } : value;
  }
  return { context };
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

/** `note`: why the time of receipt counts instead of the call's own time; else null. */
type HappenedAt = { happenedAt: number; note: string | null };

/** A request may be under way for this long. Clocks that differ by less count as equal. */
const UNDER_WAY_MS = 60_000;

/** `sentAt` may be in whole seconds. */
const SECOND_MS = 1_000;

/**
 * Returns when a call happened, by the server's clock (Segment spec, common fields: timestamps): as long before the
 * receipt as its timestamp lies before `sentAt`, its own or else its batch's. A `sentAt` of less than a minute ago
 * means a slow request, not a wrong clock: a correction would change the order of calls. One before the call says
 * nothing.
 */
function readHappenedAt(fields: Fields, times: CallTimes): HappenedAt | CallError {
  const { receivedAt, oldest, newest, isImport = false } = times;
  const field = timestampField(fields, isImport);
  const timestamp = readDeviceTime(field, fields[field]);
  if (isCallError(timestamp)) return timestamp;
  const ownSentAt: DeviceTime | CallError = isImport ? NOT_SENT : readDeviceTime('sentAt', fields.sentAt);
  if (isCallError(ownSentAt)) return ownSentAt;
  if (isImport && timestamp.isUncertain) return invalid(field, 'is of another calendar: send it in ISO 8601');
  if (isImport && timestamp.ms === null) return invalid('timestamp', 'must stand in a call of /v1/import');
  if (timestamp.ms === null) {
    return {
      happenedAt: receivedAt,
      note: timestamp.isUncertain ? `${field}: is of another calendar; the time of receipt counts` : null,
    };
  }
  const happenedAt = isImport ? timestamp.ms : correct(receivedAt, ownSentAt.ms ?? times.sentAt, timestamp.ms);
  if (happenedAt < oldest)
    return { code: 'too_old', message: `${field}: lies before ${sayInstant(oldest)}, the oldest that is kept` };
  if (happenedAt > newest) {
    const advice = isImport ? 'check the records' : "check the sender's clock, or send sentAt";
    return { code: 'in_the_future', message: `${field}: lies after ${sayInstant(newest)}; ${advice}` };
  }
  return { happenedAt: Math.min(happenedAt, receivedAt), note: null };
}

const NOT_SENT: DeviceTime = { ms: null, isUncertain: false };

/** In an import `timestamp` goes first: its sender has corrected it. */
function timestampField(fields: Fields, isImport: boolean): 'timestamp' | 'originalTimestamp' {
  const [first, second] = isImport
    ? (['timestamp', 'originalTimestamp'] as const)
    : (['originalTimestamp', 'timestamp'] as const);
  return isAbsent(fields[first]) ? second : first;
}

function correct(receivedAt: number, sentAt: number | null, timestamp: number): number {
  if (sentAt === null || timestamp - sentAt >= SECOND_MS || Math.abs(receivedAt - sentAt) <= UNDER_WAY_MS)
    return timestamp;
  return receivedAt - Math.max(sentAt - timestamp, 0);
}

function sayInstant(ms: number): string {
  return new Date(ms).toISOString();
}

/** All in ms since the epoch. Calls before `oldest` or after `newest` are refused. */
type CallTimes = {
  receivedAt: number;
  sentAt: number | null;
  oldest: number;
  newest: number;
  isImport?: boolean;
};

const MAX_CALLS = 2_500;
/** Maximum bytes of the batch's context times its number of calls: it is read, and its traits are written, for each. */
const MAX_SHARED_BYTES = 2 * 1024 * 1024;

export type CallBatch = {
  /** When the sender sent it, by its own clock, in ms since the epoch. */
  sentAt: number | null;
  /** Stands in the body if there is no Basic authentication. */
  writeKey: string | null;
  context: Fields;
  /** Not yet read by `readCall`. */
  calls: unknown[];
};

/** Reads a batch's body (Segment's HTTP tracking API: Batch). A call's error refuses only that call, not the batch. */
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

/** Events of Segment's mobile spec for going to the background and coming back. */
const TRANSITIONS = new Map<string, 'background' | 'foreground'>([
  ['Application Backgrounded', 'background'],
  ['Application Opened', 'foreground'],
  ['Application Foregrounded', 'foreground'],
]);
const CRASH = 'Application Crashed';

type Detail = { [member: string]: Json };

/** Returns a call's event: named by track itself, by Segment's rule for page and screen; null for other calls. */
export function readEvent(type: CallType, fields: Fields, sha256: Sha256): { event: CallEvent | null } | CallError {
  if (type !== 'track' && type !== 'page' && type !== 'screen') return { event: null };
  const properties = fieldsOf(fields.properties);
  if (properties === undefined) return invalid('properties', 'must be an object');
  const name = type === 'track' ? readName('event', fields.event) : readView(type, fields, properties);
  if (isCallError(name)) return name;
  const detail = plainJson(properties) as Detail;
  return { event: type === 'track' ? eventOfTrack(name.name, detail, sha256) : plainEvent(name.name, detail) };
}

function plainEvent(name: string, properties: Detail): CallEvent {
  const detail = Object.keys(properties).length === 0 ? null : properties;
  return { logType: 2, name, detail, fingerprint: null, crashTitle: null, transition: null };
}

function eventOfTrack(name: string, properties: Detail, sha256: Sha256): CallEvent {
  const event = plainEvent(name, properties);
  const { log_type: logType } = properties;
  if (name === CRASH || logType === 1 || logType === 'error') {
    return { ...event, logType: 1, ...crashOf(name, properties, sha256) };
  }
  const transition = TRANSITIONS.get(name);
  return transition === undefined ? event : { ...event, logType: 3, transition };
}

function readName(field: string, value: unknown): { name: string } | CallError {
  if (isAbsent(value)) return invalid(field, 'must stand in a track call: it is the name of the event');
  if (typeof value !== 'string') return invalid(field, 'must be a text');
  return isLongerThan(value, MAX_CODE_POINTS) ? tooLong(field) : { name: storable(value) };
}

/** Returns `Viewed <category> <name> Page`. Category and name stand in the call or in its properties. */
function readView(type: 'page' | 'screen', fields: Fields, properties: Fields): { name: string } | CallError {
  const words: string[] = [];
  for (const field of ['category', 'name']) {
    const value = isAbsent(fields[field]) ? properties[field] : fields[field];
    if (isAbsent(value)) continue;
    const word = textOrNumber(value);
    if (word === undefined) return invalid(field, 'must be a text');
    words.push(word);
  }
  const what = type === 'page' ? 'Page' : 'Screen';
  const name = words.length === 0 ? `Loaded a ${what}` : `Viewed ${words.join(' ')} ${what}`;
  return isLongerThan(name, MAX_CODE_POINTS)
    ? tooLong('name', ` in "Viewed <category> <name> ${what}"`)
    : { name: storable(name) };
}

function tooLong(field: string, where = ''): CallError {
  return invalid(field, `must have at most ${MAX_CODE_POINTS} characters${where}`);
}

/** Returns the SHA-256 of a text in hex. It is a parameter, since domain code uses no built-in modules. */
type Sha256 = (text: string) => string;

const MAX_TITLE = 256;
const MAX_FRAME = 500;

const KINDS = ['type', 'name', 'class'];
const KINDS_AT_TOP = [
  'exception_type',
  'exceptionType',
  'exception_name',
  'exceptionName',
  'error_type',
  'errorType',
  'error_name',
  'errorName',
];
const MESSAGES = ['message', 'reason'];
const STACKS = ['stack', 'stacktrace', 'stackTrace', 'stack_trace', 'backtrace', 'frames'];
/** The type before the message, such as `java.io.IOException: disk full`. */
const TYPE = /^[\w.$]+(?=:|$)/;
/** A line of a stack in JavaScript, Java, .NET, Apple's systems, Dart or Python, not the message before it. */
const FRAME = /^\s*(?:at\s|#?\d+\s|File ")|@[^\s@]*:\d/;

/**
 * Groups errors of one kind by name, exception type and first frame, without line numbers and addresses, which change
 * with each build; without type and frame, by the message without digits. SDKs have no common shape for errors.
 */
export function crashOf(name: string, properties: Fields, sha256: Sha256): { fingerprint: string; crashTitle: string } {
  const nested = [properties.exception, properties.error].filter(isObject);
  const exception = typeof properties.exception === 'string' ? properties.exception : undefined;
  const kind = firstText([properties], KINDS_AT_TOP) ?? firstText(nested, KINDS) ?? TYPE.exec(exception ?? '')?.[0];
  const message = firstText([properties], [...MESSAGES, 'error']) ?? firstText(nested, MESSAGES) ?? exception;
  const frame = firstFrame([...nested, properties]);
  const cause = kind === undefined && frame === undefined ? message?.slice(0, MAX_FRAME).replaceAll(/\d+/g, '') : frame;
  const fingerprint = sha256(JSON.stringify([name, kind ?? null, cause ?? null]));
  return { fingerprint, crashTitle: shorten(message ?? kind ?? name, MAX_TITLE) };
}

function firstText(sources: Fields[], names: string[]): string | undefined {
  for (const source of sources) {
    const found = names.map((name) => source[name]).find((value) => typeof value === 'string' && value.trim() !== '');
    if (typeof found === 'string') return found.trim();
  }
  return undefined;
}

function firstFrame(sources: Fields[]): string | undefined {
  for (const source of sources) {
    for (const name of STACKS) {
      const frame = frameOf(source[name]);
      if (frame !== undefined && frame !== '') return frame;
    }
  }
  return undefined;
}

/** Returns the first frame of a stack: a text of lines, or an array of lines or of frames. */
function frameOf(stack: unknown): string | undefined {
  if (Array.isArray(stack) && isObject(stack[0])) return generalise(sayFrame(stack[0]));
  const lines: unknown[] = typeof stack === 'string' ? stack.split('\n') : Array.isArray(stack) ? stack : [];
  const texts = lines.filter((line) => typeof line === 'string');
  const told = texts.map((line) => line.slice(0, MAX_FRAME)).filter((line) => line.trim() !== '');
  const frame = told.find((line) => FRAME.test(line)) ?? told[0];
  return frame === undefined ? undefined : generalise(frame);
}

function sayFrame(frame: Fields): string {
  const where = firstText([frame], ['class', 'className', 'module', 'file', 'filename', 'fileName']) ?? '';
  const what = firstText([frame], ['function', 'method', 'methodName', 'symbol', 'name']) ?? '';
  return `${where} ${what}`.slice(0, MAX_FRAME);
}

function generalise(frame: string): string {
  return frame
    .trim()
    .replace(/^#?\d+\s+/, '')
    .replaceAll(/0x[\da-f]+/gi, '')
    .replaceAll(/:\d+/g, '')
    .replaceAll(/\bline \d+/gi, '')
    .replace(/\+\s?\d+$/, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
