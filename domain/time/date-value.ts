/** Dates and datetimes as texts: checks, reads and writes them. */
import { IANAZone, type Zone } from 'luxon';
import { DAY_MS, MINUTE_MS } from './durations.ts';

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
 * Reads an ISO 8601 date and time into ISO in UTC with ms. Seconds are optional, a space may replace the T; the zone is
 * Z, +01:00, +0100 or +01, by default UTC. Refuses a date alone, 24:00, leap seconds, years outside 0001 to 9999.
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

/** Returns whether a text that `readDatetime` accepts names its zone; without one it is UTC. */
export function saysZone(datetime: string): boolean {
  return /[Zz+-]/.test(datetime.slice('YYYY-MM-DDTHH:MM'.length));
}

/** Returns ISO 8601 in UTC with milliseconds; undefined outside the years 0001 to 9999. */
function writeDatetime(instantMs: number): string | undefined {
  return instantMs >= FIRST_INSTANT && instantMs <= LAST_INSTANT ? new Date(instantMs).toISOString() : undefined;
}

/** Clocks of a time zone. Their times are in ms, as if they were UTC. */
export type ZoneClock = {
  offsetAt(instant: number): number;
  timeAt(instant: number): number;
  /** Returns the instant of a time: the first of two, and by `gap` for a time that the clocks skip. */
  instantOf(time: number, rule: { gap: GapRule }): number;
};

/** The instant of a skipped time: the change's `end`, or `later` by the earlier offset (RFC 5545, 3.3.5). */
type GapRule = 'end' | 'later';

export function zoneClock(zone: string | Zone = 'UTC'): ZoneClock {
  const offsetAt = zone === 'UTC' ? () => 0 : remembered(offsetsOf(zone));
  return {
    offsetAt,
    timeAt: (instant) => instant + offsetAt(instant),
    instantOf: (time, { gap }) => firstInstantOf(time, offsetAt, gap),
  };
}

type OffsetAt = ZoneClock['offsetAt'];

/** Rounds offsets: Luxon counts in minutes, and local mean times have seconds. */
function offsetsOf(named: string | Zone): OffsetAt {
  const zone = typeof named === 'string' ? IANAZone.create(named) : named;
  return (instant) => Math.round(zone.offset(instant) * MINUTE_MS);
}

/** Maximum number of cached days: 27 years. */
const MAX_DAYS = 10_000;

/** Caches the offsets of days: Intl takes several µs, and no zone changes its clocks twice in a day. */
function remembered(offsetAt: OffsetAt): OffsetAt {
  const days = new Map<number, number | null>();
  return (instant) => {
    const day = Math.floor(instant / DAY_MS);
    let offset = days.get(day);
    if (offset === undefined) {
      const atStart = offsetAt(day * DAY_MS);
      offset = atStart === offsetAt((day + 1) * DAY_MS) ? atStart : null;
      if (days.size >= MAX_DAYS) days.clear();
      days.set(day, offset);
    }
    return offset ?? offsetAt(instant);
  };
}

function firstInstantOf(time: number, offsetAt: OffsetAt, gap: GapRule): number {
  // No zone is a day away from UTC, so these lie before and after the instant.
  const offsetBefore = offsetAt(time - DAY_MS);
  const early = time - offsetBefore;
  if (offsetAt(early) === offsetBefore) return early;
  const offsetAfter = offsetAt(time + DAY_MS);
  const late = time - offsetAfter;
  if (offsetAt(late) === offsetAfter) return late;
  return gap === 'later' ? early : changeWithin(late, early, offsetAt);
}

/** Returns the instant, after `from` and by `until`, at which the offset changes. Clocks change at whole minutes. */
function changeWithin(from: number, until: number, offsetAt: OffsetAt): number {
  let [before, after] = [Math.floor(from / MINUTE_MS), Math.floor(until / MINUTE_MS)];
  const offset = offsetAt(from);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(middle * MINUTE_MS) === offset) before = middle;
    else after = middle;
  }
  return after * MINUTE_MS;
}

/** Returns the midnight of the clocks' day at an instant, as if it were UTC. */
export function dayAt({ timeAt }: ZoneClock, instant: number): number {
  return Math.floor(timeAt(instant) / DAY_MS) * DAY_MS;
}

/** A time as it was written: `local` without a zone, in ms as if it were UTC. */
export type WrittenTime = { kind: 'instant' | 'local'; ms: number };

/** Returns the clocks' day as YYYY-MM-DD; a local time has its own day. Undefined outside the years 0001 to 9999. */
export function dayIn({ timeAt }: ZoneClock, { kind, ms }: WrittenTime): string | undefined {
  return writeDatetime(kind === 'local' ? ms : timeAt(ms))?.slice(0, 'YYYY-MM-DD'.length);
}

/** Returns the time in UTC, as ISO 8601; undefined outside the years 0001 to 9999. */
export function datetimeIn({ instantOf }: ZoneClock, { kind, ms }: WrittenTime): string | undefined {
  return writeDatetime(kind === 'local' ? instantOf(ms, { gap: 'later' }) : ms);
}
