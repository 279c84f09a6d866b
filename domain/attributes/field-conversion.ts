/** Conversion of a source's field to the type of its attribute: texts, numbers, booleans, dates and Sets. */
import { DateTime, FixedOffsetZone, IANAZone } from 'luxon';
import { isDate, readDatetime, saysZone, datetimeIn, dayIn, type WrittenTime, zoneClock } from '../time/date-value.ts';
import { readNumber } from '../text/number-value.ts';
import type { Json } from '../json/plain-json.ts';
import { quote } from '../text/text-limits.ts';
import { jsonText, sayType } from './json-value.ts';
import { type NumberConversion, numberReader } from './number-conversion.ts';

export type Conversion =
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

/** Prepares a conversion that `mappingErrors` accepts: null and values of the right type stay as they are. */
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

/** `format`: Luxon's tokens, `unix` (seconds) or `unix_ms`; `zone`: an IANA name, by default UTC. */
type DateConversion = { as: 'date' | 'datetime'; format?: string; zone?: string };

/**
 * Returns a reader of local times in `zone` into ISO in UTC. A time that occurs twice is the first; a skipped one is
 * read with the offset from before.
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

const UTC = { zone: FixedOffsetZone.utcInstance, setZone: true } as const;
const LONGEST_FORMAT = 100;

/** Returns a reader of texts in a checked format (`formatError`): Luxon would take missing parts from today. */
function formatReader(format: string): (text: string) => WrittenTime | undefined {
  const parser = DateTime.buildFormatParser(format);
  const units = unitsOf(format);
  const [saysOffset, saysZoneName] = [units.includes('offset'), units.includes('zone name')];
  return (text) => {
    const time = DateTime.fromFormatParser(text, parser, UTC);
    if (!time.isValid) {
      // Luxon caches every zone that it looks up.
      if (saysZoneName) IANAZone.resetCache();
      return undefined;
    }
    if (saysOffset) return { kind: 'instant', ms: time.toMillis() };
    const localMs = time.toMillis() + Math.round(time.offset * 60_000);
    if (!saysZoneName) return { kind: 'local', ms: localMs };
    return { kind: 'instant', ms: zoneClock(time.zone).instantOf(localMs, { gap: 'later' }) };
  };
}

/** The unit of each Luxon token, by its first letter. A format may have one token for each unit. */
const UNITS: Record<string, string> = {
  G: 'era',
  y: 'year',
  k: 'week year',
  M: 'month',
  L: 'month',
  q: 'quarter',
  W: 'week',
  d: 'day',
  o: 'day of the year',
  E: 'weekday',
  c: 'weekday',
  H: 'hour',
  h: 'hour',
  a: 'half of the day',
  m: 'minute',
  s: 'second',
  S: 'fraction',
  u: 'fraction',
  Z: 'offset',
  z: 'zone name',
};

function unitsOf(format: string): string[] {
  return tokensOf(format).flatMap((token) => UNITS[token[0] ?? ''] ?? []);
}

function tokensOf(format: string): string[] {
  return DateTime.fromFormatExplain('', format).tokens.map(({ literal, val }) => (literal ? '' : val));
}

const SOME_DIGITS = new Set([
  'y',
  'yy',
  'yyyyy',
  'kk',
  'M',
  'L',
  'q',
  'W',
  'd',
  'o',
  'H',
  'h',
  'm',
  's',
  'S',
  'u',
  'uu',
  'Z',
  'ZZ',
  'ZZZ',
]);
const FIXED_DIGITS = new Set([
  'yyyy',
  'yyyyyy',
  'kkkk',
  'MM',
  'LL',
  'qq',
  'WW',
  'dd',
  'ooo',
  'E',
  'c',
  'HH',
  'hh',
  'mm',
  'ss',
  'SSS',
  'uuu',
]);

/** Returns two tokens of variable width without a separator, such as those of dM, where 111 has two meanings. */
function ambiguousTokens(format: string): string | undefined {
  let open: string | undefined;
  for (const token of tokensOf(format)) {
    if (SOME_DIGITS.has(token)) {
      if (open !== undefined) return `${open} and ${token}`;
      open = token;
    } else if (!FIXED_DIGITS.has(token)) {
      open = undefined;
    }
  }
  return undefined;
}

/** A Monday outside a quarter's first month: a week alone begins on Monday, and quarters are not read. */
const SAMPLE = [1987, 11, 23, 16, 25, 36, 700] as const;
const BEGINNING = [0, 1, 1, 0, 0, 0, 0];

/** Returns the error of a format. It must have the year, and each unit at most once, else reading may never end. */
export function formatError(format: string): string | undefined {
  const error = ownError(format);
  if (error === undefined || format.length > LONGEST_FORMAT) return error;
  const meant = suggestDateFormat(format);
  if (meant === format || ownError(meant) !== undefined) return error;
  return `${error}: did you mean ${meant}? yyyy is the year, MM the month, dd the day, HH:mm:ss the time`;
}

function ownError(format: string): string | undefined {
  if (format.length > LONGEST_FORMAT) return `has over ${LONGEST_FORMAT} characters`;
  try {
    const units = unitsOf(format);
    const twice = units.find((unit, at) => units.indexOf(unit) < at);
    if (twice !== undefined) return `tells the ${twice} twice`;
    if (!units.includes('year') && !units.includes('week year')) return 'tells no year: yyyy stands for it';
    const ambiguous = ambiguousTokens(format);
    if (ambiguous !== undefined)
      return `doesn't tell where the digits of ${ambiguous} end: double them, or write something between`;
    return sampleError(format);
  } catch (error) {
    return `is none that can be read: ${(error as Error).message}`;
  }
}

function sampleError(format: string): string | undefined {
  const written = DateTime.utc(...SAMPLE)
    .toFormat(format)
    .trim();
  const read = DateTime.fromFormat(written, format, UTC);
  if (!read.isValid) return `writes ${written}, which it cannot read`;
  const parts = [read.year, read.month, read.day, read.hour, read.minute, read.second, read.millisecond];
  const leftOut = parts.findIndex((part, at) => part !== SAMPLE[at]);
  const isRead = leftOut === -1 || (leftOut > 0 && parts.every((part, at) => at < leftOut || part === BEGINNING[at]));
  if (isRead && read.toFormat(format).trim() === written) return undefined;
  return `reads ${written} as ${read.toISO({ includeOffset: false })}: something is missing`;
}

const STRFTIME: Record<string, string> = {
  Y: 'yyyy',
  y: 'yy',
  m: 'MM',
  d: 'dd',
  e: 'd',
  H: 'HH',
  I: 'hh',
  M: 'mm',
  S: 'ss',
  f: 'SSS',
  p: 'a',
  z: 'ZZZ',
  b: 'LLL',
  B: 'LLLL',
  a: 'EEE',
  A: 'EEEE',
  j: 'ooo',
  F: 'yyyy-MM-dd',
  T: 'HH:mm:ss',
};

/** Suggests Luxon's tokens for a format of Moment, Java or strftime, such as `dd/MM/yyyy`; not checked. */
function suggestDateFormat(format: string): string {
  if (format.includes('%'))
    return format.replace(/%-?([A-Za-z])/g, (whole, letter: string) => STRFTIME[letter] ?? whole);
  // Quoted text contains no tokens.
  const tokens = (change: (text: string) => string) => (text: string) =>
    text
      .split(/('[^']*')/)
      .map((part, at) => (at % 2 === 1 ? part : change(part)))
      .join('');
  return [withQuotes, withSmallLetters, withMonths, withHours].reduce((text, change) => tokens(change)(text), format);
}

const withQuotes = (text: string) => text.replace(/\[([^[\]']*)\]/g, "'$1'").replace(/T(?=[Hhk])/g, "'T'");

const withSmallLetters = (text: string) =>
  text
    .replace(/Y+/g, (found) => found.toLowerCase())
    .replace(/(?<!D)D{1,2}(?!D)/g, (found) => found.toLowerCase())
    .replaceAll('A', 'a');

/** Replaces mm (minutes) by MM (months) in a format without hours, and MM by mm after the hour. */
function withMonths(text: string): string {
  if (!/[HhML]/.test(text)) return text.replace(/m{1,2}/g, (found) => found.toUpperCase());
  return text
    .replace(/(?<=[Hh]:)M{1,2}/g, (found) => found.toLowerCase())
    .replace(/(?<=m:)S{1,2}(?!S)/g, (found) => found.toLowerCase());
}

/** Replaces hh by HH in a format without an a: hh counts to twelve. */
const withHours = (text: string) =>
  text.includes('a') ? text : text.replace(/h{1,2}/g, (found) => found.toUpperCase());
