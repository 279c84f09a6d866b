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
  for (let step = 0; step < MAX_STEPS && isQuiet(quiet, minuteAt(clock, at)); step += 1) at = nextEnd(quiet, clock, at);
  return new Date(at);
}

function isQuiet({ start, end }: QuietHours, minute: number): boolean {
  return start <= end ? minute >= start && minute < end : minute >= start || minute < end;
}

function nextEnd({ end }: QuietHours, clock: ZoneClock, at: number): number {
  const leftMs = (end - minuteAt(clock, at)) * MINUTE_MS;
  const daysMs = leftMs > 0 ? 0 : DAY_MS;
  const ends = clock.instantOf(dayAt(clock, at) + daysMs + end * MINUTE_MS, { gap: 'later' });
  // A time that the clocks show twice is the first of both, which may be over.
  return ends > at ? ends : Math.floor(at / MINUTE_MS) * MINUTE_MS + leftMs + daysMs;
}

function minuteAt(clock: ZoneClock, at: number): number {
  return Math.floor((clock.timeAt(at) - dayAt(clock, at)) / MINUTE_MS);
}
