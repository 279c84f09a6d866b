/** Dates and datetimes as texts: checks, reads and writes them. */

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATETIME = new RegExp(
  [
    /^(?<date>\d{4}-\d{2}-\d{2})[Tt ]/,
    /(?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?/,
    /(?:[Zz]|(?<sign>[+-])(?<zoneHour>\d{2})(?::?(?<zoneMinute>\d{2}))?)?$/,
  ]
    .map((part) => part.source)
    .join(''),
);

const FIRST_INSTANT = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Returns whether `text` is YYYY-MM-DD and a day of the (proleptic Gregorian) calendar, year 0001 to 9999. */
export function isDate(text: string): boolean {
  const match = DATE.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
}

function daysInMonth(year: number, month: number): number {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeapYear ? 29 : DAYS_IN_MONTH[month - 1]!;
}

/**
 * Reads an ISO 8601 date and time into ISO in UTC with milliseconds; returns undefined for any other text. Seconds are
 * optional, more than three decimals are cut, and a space may replace the T. The zone is Z, +01:00, +0100 or +01, by
 * default UTC. Refused are a date alone, days that do not exist, 24:00, leap seconds, and instants outside the years
 * 0001 to 9999 of UTC.
 */
export function readDatetime(text: string): string | undefined {
  const parts = DATETIME.exec(text)?.groups;
  if (parts === undefined || !isDate(parts.date!)) return undefined;
  const { date, hour, minute, second = '00', fraction = '', sign, zoneHour = '00', zoneMinute = '00' } = parts;
  if (hour! > '23' || minute! > '59' || second > '59' || zoneHour > '23' || zoneMinute > '59') return undefined;
  const asWritten = `${date}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  if (sign === undefined) return asWritten;
  const offsetMs = (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000;
  return writeDatetime(Date.parse(asWritten) + (sign === '-' ? offsetMs : -offsetMs));
}

/** Returns the day of a date and time written as a midnight, in any zone; undefined for any other text. */
export function dayOfMidnight(text: string): string | undefined {
  const { date, hour, minute, second = '00', fraction = '' } = DATETIME.exec(text)?.groups ?? {};
  const isMidnight = `${hour}:${minute}:${second}` === '00:00:00' && !/[1-9]/.test(fraction);
  return isMidnight && readDatetime(text) !== undefined ? date : undefined;
}

/** Returns whether a date and time that `readDatetime` accepts has a zone. */
export function saysZone(datetime: string): boolean {
  return /[Zz+-]/.test(datetime.slice('YYYY-MM-DDTHH:MM'.length));
}

/** Returns ISO in UTC with milliseconds; undefined outside the years 0001 to 9999. */
export function writeDatetime(instantMs: number): string | undefined {
  return instantMs >= FIRST_INSTANT && instantMs <= LAST_INSTANT ? new Date(instantMs).toISOString() : undefined;
}
