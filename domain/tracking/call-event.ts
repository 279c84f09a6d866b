/** The event that a call is: its name, details and kind, and the fingerprint of an error. */

import { isObject } from '../json/exact-json.ts';
import { type Json, plainJson } from '../json/plain-json.ts';
import { isLongerThan, MAX_CODE_POINTS, shorten, storable } from '../text/text-limits.ts';
import { type CallError, type Fields, fieldsOf, invalid, isAbsent, isCallError, textOrNumber } from './call-fields.ts';
import type { CallType, CallEvent } from './call.ts';

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
export type Sha256 = (text: string) => string;

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
 * Returns the fingerprint that groups errors of one kind, 32 bytes in hex: of the event's name, the exception's type
 * and the first frame of its stack, without line numbers and addresses, which change with each build. Without type and
 * frame the message without digits counts. SDKs have no common shape for errors, so this reads the properties
 * themselves, and `exception` and `error` in them.
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
