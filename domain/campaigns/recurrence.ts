import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time/durations.ts';
import { dayAt, type ZoneClock, zoneClock } from '../time/zone-clock.ts';
import type { Recurrence } from './campaign-body.ts';

/** When messages may go: from one instant until before another, or at `from` alone where `until` is null. */
export type SendWindow = { from: Date; until: Date | null };

/** The first of `windowsBetween`. */
export function nextWindow(recurrence: Recurrence, zone: string, after: Date, until: Date): SendWindow | null {
  return windowsBetween(recurrence, zone, after, until).next().value ?? null;
}

/**
 * The windows of a dynamic campaign in order, on the days of the week that `zone` has (reference: Dynamic campaign
 * extra fields): with a start alone exactly then; with start and end between both; with neither the whole day, of 23 or
 * 25 hours where clocks change. A window under way at `after` begins there, and one that goes on past `until` ends
 * there; an exact time may be `after`, not `until`. A time that the clocks skip is the end of the gap, and one that
 * they show twice the first of both. A period that lies in a gap as a whole is left out, as is a day that a zone skips.
 */
export function* windowsBetween(
  recurrence: Recurrence,
  zone: string,
  after: Date,
  until: Date,
): Generator<SendWindow, undefined> {
  const clock = zoneClock(zone);
  // A day more at both ends: where clocks change around midnight, a time may lie on the day after its own, or a day
  // begin before it shows.
  const last = dayAt(clock, until.getTime()) + DAY_MS;
  for (let day = dayAt(clock, after.getTime()) - DAY_MS; day <= last; day += DAY_MS) {
    if (!recurrence.day_of_week.includes(new Date(day).getUTCDay())) continue;
    const window = windowOn(day, recurrence, clock);
    const clipped = window && clip(window, after, until);
    if (clipped) yield clipped;
  }
}

/** Before it is clipped: a period that the clocks skip is empty. */
function windowOn(day: number, { start_time: start, end_time: end }: Recurrence, clock: ZoneClock): SendWindow | null {
  const instantOf = ({ hour, min }: { hour: number; min: number }) =>
    new Date(clock.instantOf(day + hour * HOUR_MS + min * MINUTE_MS, { gap: 'end' }));
  const midnight = instantOf({ hour: 0, min: 0 });
  const nextMidnight = instantOf({ hour: 24, min: 0 });
  if (midnight >= nextMidnight) return null; // a day that was skipped, as 30 December 2011 in Samoa
  const from = start ? instantOf(start) : midnight;
  if (start && !end) return { from, until: null };
  return { from, until: end ? instantOf(end) : nextMidnight };
}

/** Null for what is outside, or empty. */
function clip({ from, until: ends }: SendWindow, after: Date, until: Date): SendWindow | null {
  if (ends === null) return from >= after && from < until ? { from, until: null } : null;
  const clipped = { from: from < after ? after : from, until: ends < until ? ends : until };
  return clipped.from < clipped.until ? clipped : null;
}
