import { DAY_MS, MINUTE_MS } from '../time/durations.ts';
import { dayAt, type ZoneClock, zoneClock } from '../time/date-value.ts';

/** An app's quiet hours in minutes of the day; hours that end before they start go over midnight. */
export type QuietHours = { start: number; end: number; timezone: string };

/** Maximum number of steps: a clock change shows quiet hours again, at most twice. */
const MAX_STEPS = 4;

/** Returns when a message may leave: `now`, or the end of the quiet hours in which it falls. */
export function endOfQuiet(quiet: QuietHours | null, now: Date): Date {
  if (quiet === null) return now;
  const clock = zoneClock(quiet.timezone);
  let at = now.getTime();
  for (let step = 0; step < MAX_STEPS && isQuiet(quiet, minuteAt(clock, at)); step += 1)
    at = nextTime(quiet.end, clock, at);
  return new Date(at);
}

/** Returns when quiet hours begin after `from`, which lies outside of them; null: never. */
export function startOfQuiet(quiet: QuietHours | null, from: Date): Date | null {
  if (quiet === null || quiet.start === quiet.end) return null;
  return new Date(nextTime(quiet.start, zoneClock(quiet.timezone), from.getTime()));
}

/** Returns whether clocks of `zone` show a time of the quiet hours, which are meant in the app's zone. */
export function isQuietIn(zone: string, quiet: QuietHours | null, at: Date): boolean {
  return quiet !== null && isQuiet(quiet, minuteAt(zoneClock(zone), at.getTime()));
}

function isQuiet({ start, end }: QuietHours, minute: number): boolean {
  return start <= end ? minute >= start && minute < end : minute >= start || minute < end;
}

/** Returns when the clock shows this minute of the day next. */
function nextTime(minute: number, clock: ZoneClock, at: number): number {
  const leftMs = (minute - minuteAt(clock, at)) * MINUTE_MS;
  const daysMs = leftMs > 0 ? 0 : DAY_MS;
  const next = clock.instantOf(dayAt(clock, at) + daysMs + minute * MINUTE_MS, { gap: 'later' });
  // A time that the clocks show twice is the first of both, which may be over.
  return next > at ? next : Math.floor(at / MINUTE_MS) * MINUTE_MS + leftMs + daysMs;
}

function minuteAt(clock: ZoneClock, at: number): number {
  return Math.floor((clock.timeAt(at) - dayAt(clock, at)) / MINUTE_MS);
}
