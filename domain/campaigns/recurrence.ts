/** The windows of a dynamic campaign: when it may send, in each zone. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time/durations.ts';
import { dayAt, type ZoneClock, zoneClock } from '../time/zone-clock.ts';
import type { Recurrence } from './campaign-body.ts';

/** A window for sending: from one instant until before another, or exactly at `from` if `until` is null. */
export type SendWindow = { from: Date; until: Date | null };

/** Returns the first window of `windowsBetween`. */
export function nextWindow(recurrence: Recurrence, zone: string, after: Date, until: Date): SendWindow | null {
  return windowsBetween(recurrence, zone, after, until).next().value ?? null;
}

/**
 * Yields the windows of a dynamic campaign in order, on the recurrence's days of the week in `zone` (reference: Dynamic
 * campaign extra fields): with a start only, exactly then; with start and end, between both; with neither, the whole
 * day, of 23 or 25 hours when clocks change. A window under way at `after` begins there, and one that lasts beyond
 * `until` ends there; an exact time may be `after`, not `until`. A time that the clocks skip is the end of the gap; a
 * time that they show twice is the first of both. A period within a gap is left out, and so is a day that a zone skips.
 */
export function* windowsBetween(
  recurrence: Recurrence,
  zone: string,
  after: Date,
  until: Date,
): Generator<SendWindow, undefined> {
  const clock = zoneClock(zone);
  // One more day at both ends: when clocks change around midnight, a time may lie on the next day, or a day begin
  // before its date.
  const last = dayAt(clock, until.getTime()) + DAY_MS;
  for (let day = dayAt(clock, after.getTime()) - DAY_MS; day <= last; day += DAY_MS) {
    if (!recurrence.day_of_week.includes(new Date(day).getUTCDay())) continue;
    const window = windowOn(day, recurrence, clock);
    const clipped = window && clip(window, after, until);
    if (clipped) yield clipped;
  }
}

/** Returns the window of a day, not clipped yet. A period that the clocks skip is empty. */
function windowOn(day: number, { start_time: start, end_time: end }: Recurrence, clock: ZoneClock): SendWindow | null {
  const instantOf = ({ hour, min }: { hour: number; min: number }) =>
    new Date(clock.instantOf(day + hour * HOUR_MS + min * MINUTE_MS, { gap: 'end' }));
  const midnight = instantOf({ hour: 0, min: 0 });
  const nextMidnight = instantOf({ hour: 24, min: 0 });
  if (midnight >= nextMidnight) return null; // a skipped day, such as 30 December 2011 in Samoa
  const from = start ? instantOf(start) : midnight;
  if (start && !end) return { from, until: null };
  return { from, until: end ? instantOf(end) : nextMidnight };
}

/** Clips a window; null if it lies outside, or is empty. */
function clip({ from, until: ends }: SendWindow, after: Date, until: Date): SendWindow | null {
  if (ends === null) return from >= after && from < until ? { from, until: null } : null;
  const clipped = { from: from < after ? after : from, until: ends < until ? ends : until };
  return clipped.from < clipped.until ? clipped : null;
}
