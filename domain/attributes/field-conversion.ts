import { isDate, readDatetime, saysZone } from '../time/date-value.ts';
import { readNumber } from '../text/number-value.ts';
import type { Json } from '../json/plain-json.ts';
import { quote } from '../text/text-limits.ts';
import { datetimeIn, dayIn, type WrittenTime, zoneClock } from '../time/zone-clock.ts';
import { formatReader } from './date-format.ts';
import { jsonText, sayType } from './json-value.ts';
import { type NumberConversion, numberReader } from './number-conversion.ts';

/** What is done to a field's value on its way. */
export type Conversion =
  /** Arrays and objects become JSON. */
  | { as: 'string' }
  | NumberConversion
  /** The words for each, case aside; without them those of `TRUE` and `FALSE`. */
  | { as: 'boolean'; true?: readonly string[]; false?: readonly string[] }
  | DateConversion
  /** A text becomes an array: `separator` stands between its elements, `;` when left out. */
  | { as: 'set'; separator?: string };

export type Converted =
  | { ok: true; value: Json }
  | { ok: false; errorType: 'EMPTY_VALUE' | 'INVALID_VALUE'; message: string };

type TextConversion = (text: string, value: Json) => Converted;

export const TRUE: readonly string[] = ['true', 'yes', '1', 't', 'y', 'on'];
export const FALSE: readonly string[] = ['false', 'no', '0', 'f', 'n', 'off'];

/**
 * Prepares a conversion that `mappingErrors` finds no error in. null stays null, and what already is of the type stays
 * as it is. Otherwise it is read from its text without the spaces around; one without anything else is EMPTY_VALUE.
 */
export function prepareConversion(conversion: Conversion): (value: Json) => Converted {
  if (conversion.as === 'string') return toText;
  const convertText = textConversion(conversion);
  return (value) => {
    if (value === null || isOf(conversion.as, value)) return { ok: true, value };
    if (typeof value === 'object') return invalid(`${sayType(value)} can't be read as a ${conversion.as}`);
    const text = typeof value === 'string' ? value.trim() : String(value);
    return text === '' ? EMPTY : convertText(text, value);
  };
}

const EMPTY: Converted = { ok: false, errorType: 'EMPTY_VALUE', message: 'the value is empty' };

function invalid(message: string): Converted {
  return { ok: false, errorType: 'INVALID_VALUE', message };
}

function isOf(type: Exclude<Conversion['as'], 'string'>, value: Json): boolean {
  return type === 'set' ? Array.isArray(value) : typeof value === type;
}

function toText(value: Json): Converted {
  if (value === null || typeof value === 'string') return { ok: true, value };
  const text = typeof value === 'object' ? jsonText(value) : String(value);
  return text === undefined ? invalid(`${sayType(value)} is nested too deeply`) : { ok: true, value: text };
}

function textConversion(conversion: Exclude<Conversion, { as: 'string' }>): TextConversion {
  switch (conversion.as) {
    case 'number':
      return toNumber(conversion);
    case 'boolean':
      return toBoolean(conversion);
    case 'date':
    case 'datetime':
      return toDate(conversion);
    case 'set':
      return toSet(conversion);
  }
}

function toNumber(conversion: NumberConversion): TextConversion {
  const read = numberReader(conversion);
  return (text, value) => {
    if (typeof value === 'boolean') return invalid(`${text} is not a number`);
    const reading = read(text);
    return reading.ok ? reading : invalid(`${quote(text)} ${reading.message}`);
  };
}

function toBoolean({ true: yes = TRUE, false: no = FALSE }: Extract<Conversion, { as: 'boolean' }>): TextConversion {
  const byWord = new Map([
    ...yes.map((word) => [foldWord(word), true] as const),
    ...no.map((word) => [foldWord(word), false] as const),
  ]);
  return (text) => {
    const value = byWord.get(foldWord(text));
    return value === undefined ? invalid(`${quote(text)} stands neither for true nor for false`) : { ok: true, value };
  };
}

/** As the words of a boolean are compared. */
export function foldWord(word: string): string {
  return word.trim().toLowerCase();
}

function toDate(conversion: DateConversion): TextConversion {
  const read = dateReader(conversion);
  return (text, value) => {
    // A date may be written in digits alone; without a format nobody could tell what a number counts.
    if (typeof value === 'number' && conversion.format === undefined) {
      return invalid(`${text} is a number: say by its format whether it is unix or unix_ms`);
    }
    const date = read(text);
    return date === undefined
      ? invalid(`${quote(text)} is not ${sayExpectedDate(conversion)}`)
      : { ok: true, value: date };
  };
}

function toSet({ separator = ';' }: Extract<Conversion, { as: 'set' }>): TextConversion {
  return (text, value) => {
    // Spaces may be, or belong to, the separator.
    const texts = typeof value === 'string' ? value.split(separator) : [text];
    const elements = texts.map((element) => element.trim()).filter((element) => element !== '');
    return elements.length === 0 ? EMPTY : { ok: true, value: elements };
  };
}

/**
 * `format`: Luxon's tokens, `unix` (seconds since 1970) or `unix_ms`; without one, what Date and Datetime attributes
 * take. `zone`: an IANA name, UTC when left out.
 */
type DateConversion = { as: 'date' | 'datetime'; format?: string; zone?: string };

/**
 * Reads texts into YYYY-MM-DD, or ISO in UTC with milliseconds; what is smaller is cut. `zone` is that of times that
 * say none, and the one whose day counts where a date is made of a time that says its own. A date becomes the midnight
 * at which it begins there. Of a local time that comes twice, as clocks go back, the first is taken; one that they
 * leave out as they go forward is read with the offset from before. Undefined where the text is no such date or time.
 */
function dateReader({ as, format, zone }: DateConversion): (text: string) => string | undefined {
  const read = timeReader(format);
  const written = as === 'date' ? dayIn : datetimeIn;
  const clock = zoneClock(zone);
  return (text) => {
    const time = read(text);
    return time && written(clock, time);
  };
}

/** What a text was expected to be, for the message of one that isn't. */
function sayExpectedDate({ as, format }: DateConversion): string {
  switch (format) {
    case undefined:
      return 'a date as YYYY-MM-DD, or a date and time in ISO 8601';
    case 'unix':
      return 'a time in seconds since 1970';
    case 'unix_ms':
      return 'a time in milliseconds since 1970';
    default:
      return `a ${as} written as ${format}`;
  }
}

function timeReader(format: string | undefined): (text: string) => WrittenTime | undefined {
  switch (format) {
    case undefined:
      return readIso;
    case 'unix':
      return (text) => readUnix(text, 3);
    case 'unix_ms':
      return (text) => readUnix(text, 0);
    default:
      return formatReader(format);
  }
}

function readIso(text: string): WrittenTime | undefined {
  if (isDate(text)) return { kind: 'local', ms: Date.parse(`${text}T00:00:00.000Z`) };
  const datetime = readDatetime(text);
  return datetime === undefined ? undefined : { kind: saysZone(text) ? 'instant' : 'local', ms: Date.parse(datetime) };
}

/** The point is moved in the text: a double would not have the milliseconds of 1700000000.001. */
function readUnix(text: string, decimals: number): WrittenTime | undefined {
  const reading = readNumber(text);
  if (!reading.ok) return undefined;
  const [whole, fraction = ''] = reading.value.split('.');
  return { kind: 'instant', ms: Number(`${whole}${fraction.padEnd(decimals, '0').slice(0, decimals)}`) };
}
