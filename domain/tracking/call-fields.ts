import { isWordForNothing, newCustomerIdError } from '../attributes/customer-id.ts';
import { numberText } from '../core/exact-json.ts';
import { isKeptByDouble } from '../core/number-value.ts';
import { shorten } from '../core/text-limits.ts';
import type { CallType, RefusalCode, TrackedCall } from './call.ts';

/** The members of an object of a call, as `parseExactJson` reads them: anything may stand in each. */
export type Fields = Readonly<Record<string, unknown>>;

/** Why a call can't be read; it names the field and says what would be right, and quotes nobody's values. */
export type CallError = { code: RefusalCode; message: string };

export function invalid(field: string, message: string): CallError {
  return { code: 'invalid', message: `${field}: ${message}` };
}

export function isCallError<T extends object>(outcome: T | CallError): outcome is CallError {
  return 'code' in outcome;
}

/** Absent as SDKs send it: left out, null, or an empty text. */
export function isAbsent(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

/** Undefined for what is no object. Absent ones are empty; so is an empty array, as PHP writes an empty map. */
export function fieldsOf(value: unknown): Fields | undefined {
  if (isAbsent(value) || (Array.isArray(value) && value.length === 0)) return {};
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}

/** A text, or a number as its text, since SDKs send numbers for ids and versions; undefined for all else. */
export function textOrNumber(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const digits = numberText(value);
  return digits !== undefined && isKeptByDouble(digits) ? String(Number(digits)) : digits;
}

const MAX_SHOWN = 256;
/** What a call tells of something in a word: cut to size and storable; null where it tells nothing. */
export function wordOf(value: unknown): string | null {
  const text = value === undefined ? null : trimmedTextOf(value);
  return text === null ? null : shorten(text, MAX_SHOWN);
}

function trimmedTextOf(value: unknown): string | null {
  const text = textOrNumber(value)?.trim();
  return text === undefined || text === '' || isWordForNothing(text) ? null : text;
}

/** Of a token of FCM or APNs, or a browser's subscription with its keys; real ones have a few hundred characters. */
const MAX_TOKEN = 4_096;

/** How iOS describes the bytes of a token in words: with all of them, and, since iOS 13, with some. */
const DESCRIBED = /^<([\da-f ]*)>$/i;
const DESCRIBED_IN_PART = /^\{ ?length ?= ?\d+, ?bytes ?= ?0x/;

/**
 * A token for push messages, whole or not at all: a part of one reaches no device. A browser's is its subscription, as
 * an object or as JSON. Apps that send what iOS prints of a token send its bytes in groups, or only the first and last
 * of them.
 */
export function pushTokenOf(value: unknown): string | null {
  const text = isObject(value) ? JSON.stringify(value) : trimmedTextOf(value);
  if (text === null || text.length > MAX_TOKEN || DESCRIBED_IN_PART.test(text)) return null;
  // No bytes are no token.
  return shorten(DESCRIBED.exec(text)?.[1]?.replaceAll(' ', '') ?? text, MAX_TOKEN) || null;
}

/** Longer ones are hardly ever shared. */
const MAX_KNOWN_LENGTH = 32;
const MAX_KNOWN = 2_000;
const known = new Map<string, string | null>();

/**
 * The same, of what many devices share and no person is told by: versions, models, systems, carriers. They come again
 * with each call, and stay in memory; what may be a person's own, such as a city or a token, never goes this way.
 */
export function sharedWordOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_KNOWN_LENGTH) return wordOf(value);
  let word = known.get(value);
  if (word === undefined) {
    word = wordOf(value);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(value, word);
  }
  return word;
}

type Subject = Pick<TrackedCall, 'userId' | 'deviceId' | 'previousId'>;

/**
 * Ids that systems give for a device without one of its own: many devices would be one. Zeros, as a text or a number,
 * and an id that thousands of phones had.
 */
const NO_DEVICE = /^[0-]+(?:\.0+)?$|^9774d56d682e549c$/i;

/**
 * Whom a call is of: `userId`, and `context.device.id`, for which `anonymousId` stands where it is missing, as on the
 * web. All three are customer ids; a number is taken as its text, and a word for nothing (`undefined`) as missing.
 */
export function readSubject(type: CallType, fields: Fields, device: Fields): Subject | CallError {
  const userId = readId('userId', fields.userId);
  if (isCallError(userId)) return userId;
  const deviceId = isNoDevice(device.id)
    ? readDevice('anonymousId', fields.anonymousId)
    : readId('context.device.id', device.id);
  if (isCallError(deviceId)) return deviceId;
  if (userId.id === null && deviceId.id === null) {
    return { code: 'nobody', message: 'userId: must stand in a call, or anonymousId, or context.device.id' };
  }
  const previousId = type === 'alias' ? readPreviousId(fields, userId.id) : { id: null };
  return isCallError(previousId) ? previousId : { userId: userId.id, deviceId: deviceId.id, previousId: previousId.id };
}

function readPreviousId(fields: Fields, userId: string | null): { id: string | null } | CallError {
  if (userId === null) return invalid('userId', 'must stand in an alias: it is the id from now on');
  return isNoId(fields.previousId)
    ? invalid('previousId', 'must stand in an alias')
    : readId('previousId', fields.previousId);
}

/** Whether an id that was given for a device is none. */
export function isNoDevice(id: unknown): boolean {
  return isNoId(id) || NO_DEVICE.test(textOrNumber(id) ?? '');
}

function readDevice(field: string, id: unknown): { id: string | null } | CallError {
  return isNoDevice(id) ? { id: null } : readId(field, id);
}

/** Whether an id is missing: absent, or a word for nothing. */
export function isNoId(id: unknown): boolean {
  return isAbsent(id) || (typeof id === 'string' && isWordForNothing(id));
}

/** Null where it is missing. */
export function readId(field: string, value: unknown): { id: string | null } | CallError {
  if (isNoId(value)) return { id: null };
  const id = textOrNumber(value);
  if (id === undefined) return invalid(field, 'must be a text or a number');
  const error = newCustomerIdError(id);
  return error === undefined ? { id } : invalid(field, error.replace('the customer id', 'it'));
}
