import { DAY_MS, MINUTE_MS } from '../time/durations.ts';
import { dayAt, type ZoneClock, zoneClock } from '../time/zone-clock.ts';

/** When an app's people are left alone, in minutes of the day; one that ends before it starts goes over midnight. */
export type QuietHours = { start: number; end: number; timezone: string };

/** Clocks that were set forward or back show quiet hours again, twice at most. */
const MAX_STEPS = 4;

/** When a message may go: `now`, or the first moment outside the quiet hours, if there are any, that it falls into. */
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

/** The minute of the day that the clocks show. */
function minuteAt(clock: ZoneClock, at: number): number {
  return Math.floor((clock.timeAt(at) - dayAt(clock, at)) / MINUTE_MS);
}
