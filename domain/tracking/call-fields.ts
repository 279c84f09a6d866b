import { isWordForNothing } from '../attributes/customer-id.ts';
import { numberText } from '../core/exact-json.ts';
import { isKeptByDouble } from '../core/number-value.ts';
import { shorten } from '../core/text-limits.ts';
import type { RefusalCode } from './tracked-call.ts';

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
