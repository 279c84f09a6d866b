/** Times as devices write them: ISO 8601, and the digits, hours and calendars of their owners' settings. */

import { isDate, readDatetime } from '../time/date-value.ts';
import { DAY_MS } from '../time/durations.ts';
import { type CallError, invalid, isAbsent } from './call-fields.ts';

/** A time as a device wrote it. `ms` is null if the time is absent, or (`isUncertain`) may mean several instants. */
export type DeviceTime = { ms: number | null; isUncertain: boolean };

/**
 * Reads a time in ISO 8601; a date alone is midnight in UTC. Also reads what a phone's digits, clock and calendar make
 * of it if that can mean one instant only.
 */
export function readDeviceTime(field: string, value: unknown): DeviceTime | CallError {
  if (isAbsent(value)) return { ms: null, isUncertain: false };
  const text = typeof value === 'string' ? value.trim() : '';
  const ms = isAsSdksWrite(text) ? Date.parse(text) : readText(text);
  if (ms === undefined) return invalid(field, 'must be a date and time in ISO 8601, such as 2026-03-01T12:00:00.000Z');
  return { ms, isUncertain: ms === null };
}

const AS_SDKS_WRITE = /^[12]\d{3}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** The last valid day: most times of a batch fall on one day. */
let knownDay = '';

/** Returns whether `Date.parse` reads a text as `readText` would, several times as fast. */
function isAsSdksWrite(text: string): boolean {
  if (!AS_SDKS_WRITE.test(text)) return false;
  const day = text.slice(0, 'YYYY-MM-DD'.length);
  if (day !== knownDay && !(isDate(day) && isGregorian(Number(day.slice(0, 4))))) return false;
  knownDay = day;
  return true;
}

/** Returns undefined for a text that is no time, and null for one that may mean several instants. */
function readText(text: string): number | null | undefined {
  const western = text.length > MAX_LENGTH ? text : westernDigits(text);
  const twelve = TWELVE_HOURS.exec(western);
  const written = twelve === null ? western : withoutMarker(western, twelve[0]);
  const parts = DAY.exec(written);
  const day = parts === null ? undefined : gregorianDay(parts.groups!);
  if (day === null) return null;
  const clock = parts === null ? undefined : clockTime(written.slice(parts[0].length), twelve);
  const iso = day === undefined || clock === undefined ? undefined : readDatetime(`${day}T${clock}`);
  if (iso !== undefined) return Date.parse(iso);
  const isForeign = western !== text || twelve !== null;
  return isForeign && LIKE_A_DATE.test(western) ? null : undefined;
}

const MAX_LENGTH = 64;
const DAY = /^(?<year>\d{1,4})[-/.](?<month>\d{1,2})[-/.](?<day>\d{1,2})(?:[Tt ]|$)/;
const CLOCK = new RegExp(
  [
    /^(?<hour>\d{1,2})[:.](?<minute>\d{2})(?:[:.](?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?/,
    /(?:[Zz]|(?:GMT|UTC)?(?<zone>[+-]\d{2}(?::?\d{2})?)?)$/,
  ]
    .map((part) => part.source)
    .join(''),
);
const LIKE_A_DATE = /\d{1,4}\D{1,3}\d{1,2}\D{1,3}\d{1,4}/;

/** The zeros of other scripts; the digits 1 to 9 follow each. */
const ZEROS = [
  0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50, 0x0ed0,
  0x0f20, 0x1040, 0x17e0, 0x1810, 0xff10, 0x11136, 0x1e950,
];

/** Replaces other scripts' digits by European ones, and removes marks of text direction. */
function westernDigits(text: string): string {
  return text
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll('٫', '.')
    .replaceAll(/\p{Nd}/gu, (digit) => {
      const code = digit.codePointAt(0)!;
      const zero = ZEROS.find((each) => code >= each && code <= each + 9);
      return zero === undefined ? digit : String(code - zero);
    });
}

/** Words for before and after noon, in English, Arabic, Persian, Chinese, Japanese, Korean and Hindi. */
const TWELVE_HOURS =
  /(?<am>a\.m\.|am|ص|ق\.ظ\.?|上午|午前|오전|पूर्वाह्न)|(?<pm>p\.m\.|pm|م|ب\.ظ\.?|下午|午後|오후|अपराह्न)/iu;

/** Removes AM or PM: iOS adds it to a 24-hour pattern while the phone shows twelve hours. */
function withoutMarker(text: string, marker: string): string {
  const spaced = text.replace(marker, ' ').replaceAll(/\s+/g, ' ').trim();
  return spaced.replace('T ', 'T').replace(' .', '.').replace(' Z', 'Z').replace(' +', '+').replace(' -', '-');
}

/** Returns the time of day as `readDatetime` reads it; midnight in UTC if none is written. */
function clockTime(written: string, twelve: RegExpExecArray | null): string | undefined {
  if (written === '') return '00:00';
  const parts = CLOCK.exec(written)?.groups;
  if (parts === undefined) return undefined;
  const { hour, minute, second = '00', fraction = '0', zone = 'Z' } = parts;
  const of24 = twelve === null ? Number(hour) : hourOf(Number(hour), twelve.groups!.pm !== undefined);
  return `${twoDigits(of24)}:${minute}:${second}.${fraction}${zone}`;
}

/** Returns the hour of 24. An hour over 12 stays after noon; before noon it is invalid. */
function hourOf(hour: number, isAfterNoon: boolean): number {
  if (hour > 12) return isAfterNoon ? hour : 99;
  return (hour % 12) + (isAfterNoon ? 12 : 0);
}

/** Returns undefined for a day that does not exist, and null if the calendar is not certain. */
function gregorianDay({
  year = '',
  month = '',
  day = '',
}: Record<string, string | undefined>): string | null | undefined {
  const given = Number(year);
  if (isPersian(given)) return fromPersian(given, Number(month), Number(day)) ?? null;
  const gregorian = isBuddhist(given) ? given - 543 : given;
  if (!isGregorian(gregorian)) return null;
  const written = `${gregorian}-${twoDigits(Number(month))}-${twoDigits(Number(day))}`;
  return isDate(written) ? written : undefined;
}

const isGregorian = (year: number) => year >= 1970 && year < 2400;
const isBuddhist = (year: number) => year >= 2513 && year < 2943;
/** 2011 to 2061. No other calendar in use has these years now: the Islamic ones passed them in 2019. */
const isPersian = (year: number) => year >= 1390 && year <= 1440;

const PERSIAN = new Intl.DateTimeFormat('en-u-ca-persian-nu-latn', {
  timeZone: 'UTC',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
});

function fromPersian(year: number, month: number, day: number): string | undefined {
  // A year begins on 20 or 21 March, and its first six months have 31 days.
  const near = Date.UTC(year + 621, 2, 20) + ((month - 1) * 31 - Math.max(month - 7, 0) + day - 1) * DAY_MS;
  for (let days = -1; days <= 2; days += 1) {
    const instant = near + days * DAY_MS;
    const parts = Object.fromEntries(
      PERSIAN.formatToParts(instant).map(({ type, value }) => [type, Number.parseInt(value, 10)]),
    );
    if (parts.year === year && parts.month === month && parts.day === day)
      return new Date(instant).toISOString().slice(0, 10);
  }
  return undefined;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}
