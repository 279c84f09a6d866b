/** Reads dates and times in a format of Luxon's tokens, checks such formats, and suggests corrections. */
import { DateTime, FixedOffsetZone, IANAZone } from 'luxon';
import { type WrittenTime, zoneClock } from '../time/zone-clock.ts';

const UTC = { zone: FixedOffsetZone.utcInstance, setZone: true } as const;
const LONGEST_FORMAT = 100;

/**
 * Returns a reader of texts in a format of Luxon's tokens, in English. Check the format with `formatError` first: Luxon
 * takes missing parts from today.
 */
export function formatReader(format: string): (text: string) => WrittenTime | undefined {
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

/** Returns a format's tokens, with '' for the texts between them. */
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

/**
 * A Monday outside the first month of a quarter: a format with a week alone begins on Monday, and quarters are not
 * read.
 */
const SAMPLE = [1987, 11, 23, 16, 25, 36, 700] as const;
const BEGINNING = [0, 1, 1, 0, 0, 0, 0];

/**
 * Returns what is wrong with a format, or undefined. A format must contain the year, each unit at most once (else
 * reading may never end), clear ends of its numbers, and must read what it writes. It may leave out smaller units, but
 * none in between. For tokens of another library, the message suggests Luxon's.
 */
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

/** Luxon's tokens for those of C's strftime. */
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

/**
 * Returns the probable format in Luxon's tokens for one of Moment, Java, strftime or the wrong case, such as
 * `dd/MM/yyyy` for `DD/MM/YYYY`. The suggestion is not checked.
 */
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
