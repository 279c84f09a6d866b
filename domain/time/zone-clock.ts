/** Clocks of time zones: instants and local times. */
import { IANAZone, type Zone } from 'luxon';
import { writeDatetime } from './date-value.ts';
import { DAY_MS, MINUTE_MS } from './durations.ts';

/**
 * Clocks of a time zone: their times, and the instants of these times. Times on clocks are in ms, as if they were UTC.
 */
export type ZoneClock = {
  /** Returns how far the clocks are ahead of UTC at an instant. */
  offsetAt(instant: number): number;
  /** Returns the clocks' time at an instant. */
  timeAt(instant: number): number;
  /** Returns the instant of a time: the first of two, and by `gap` for a time that the clocks skip. */
  instantOf(time: number, rule: { gap: GapRule }): number;
};

/**
 * The instant of a skipped time: `end` is that of the change; `later` reads the time with the offset from before, which
 * moves it by as much as the clocks skip (RFC 5545, 3.3.5).
 */
type GapRule = 'end' | 'later';

/** Returns the clocks of a zone that `isTimeZone` accepts, or that Luxon has read. */
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

/**
 * Caches the offsets of days: Intl takes several µs. No zone changes its clocks twice in a day; the shortest distance
 * so far is four days.
 */
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

/** Returns the time in UTC; undefined outside the years 0001 to 9999. */
export function datetimeIn({ instantOf }: ZoneClock, { kind, ms }: WrittenTime): string | undefined {
  return writeDatetime(kind === 'local' ? instantOf(ms, { gap: 'later' }) : ms);
}
