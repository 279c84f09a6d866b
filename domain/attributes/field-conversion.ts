/** Conversion of a source's field to the type of its attribute: texts, numbers, booleans, dates and Sets. */
import { isDate, readDatetime, saysZone } from '../time/date-value.ts';
import { readNumber } from '../text/number-value.ts';
import type { Json } from '../json/plain-json.ts';
import { quote } from '../text/text-limits.ts';
import { datetimeIn, dayIn, type WrittenTime, zoneClock } from '../time/zone-clock.ts';
import { formatReader } from './date-format.ts';
import { jsonText, sayType } from './json-value.ts';
import { type NumberConversion, numberReader } from './number-conversion.ts';

/** Conversion of a field's value. */
export type Conversion =
  /** Writes arrays and objects as JSON. */
  | { as: 'string' }
  | NumberConversion
  /** Words for each, case-insensitive; by default those of `TRUE` and `FALSE`. */
  | { as: 'boolean'; true?: readonly string[]; false?: readonly string[] }
  | DateConversion
  /** Splits a text into elements at `separator`, by default `;`. */
  | { as: 'set'; separator?: string };

export type Converted =
  | { ok: true; value: Json }
  | { ok: false; errorType: 'EMPTY_VALUE' | 'INVALID_VALUE'; message: string };

type TextConversion = (text: string, value: Json) => Converted;

export const TRUE: readonly string[] = ['true', 'yes', '1', 't', 'y', 'on'];
export const FALSE: readonly string[] = ['false', 'no', '0', 'f', 'n', 'off'];

/**
 * Prepares a conversion that `mappingErrors` accepts. null and values of the right type stay as they are. Other values
 * are read from their trimmed text; an empty text is EMPTY_VALUE.
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

/** Returns a boolean's word in the form in which words are compared. */
export function foldWord(word: string): string {
  return word.trim().toLowerCase();
}

function toDate(conversion: DateConversion): TextConversion {
  const read = dateReader(conversion);
  return (text, value) => {
    // Digits alone may be a date in some format. Without a format the unit of a number is unknown.
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
    // A separator may be or contain spaces.
    const texts = typeof value === 'string' ? value.split(separator) : [text];
    const elements = texts.map((element) => element.trim()).filter((element) => element !== '');
    return elements.length === 0 ? EMPTY : { ok: true, value: elements };
  };
}

/**
 * `format`: Luxon's tokens, `unix` (seconds since 1970) or `unix_ms`; by default the form of Date and Datetime
 * attributes. `zone`: an IANA name, by default UTC.
 */
type DateConversion = { as: 'date' | 'datetime'; format?: string; zone?: string };

/**
 * Returns a reader of texts into YYYY-MM-DD, or ISO in UTC with milliseconds; smaller units are cut. `zone` applies to
 * times without a zone, and decides the day when a time becomes a date. A date becomes the midnight at which it begins
 * in the zone. A local time that occurs twice means the first; a skipped one is read with the offset from before.
 * Returns undefined for any other text.
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

/** Returns the expected form of a date, for error messages. */
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

/** Moves the decimal point in the text: a double cannot hold the milliseconds of 1700000000.001. */
function readUnix(text: string, decimals: number): WrittenTime | undefined {
  const reading = readNumber(text);
  if (!reading.ok) return undefined;
  const [whole, fraction = ''] = reading.value.split('.');
  return { kind: 'instant', ms: Number(`${whole}${fraction.padEnd(decimals, '0').slice(0, decimals)}`) };
}
