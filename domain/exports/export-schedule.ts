import { DAY_MS } from '../time/durations.ts';
import { laneOf } from '../core/hash.ts';
import { dayAt, zoneClock } from '../time/date-value.ts';
import { type CronSchedule, nextRuns } from '../syncs/sync-schedule.ts';

/** Minutes of the local day: after midnight, and before people come to work. */
const FIRST_MINUTE = 5;
const LAST_MINUTE = 5 * 60 + 59;

/** Returns a daily time between 00:05 and 05:59, at a minute by the exporter's identifier, which spreads the load. */
export function exportSchedule(identifier: string, zone: string): CronSchedule {
  const minute = FIRST_MINUTE + laneOf(identifier, LAST_MINUTE - FIRST_MINUTE + 1);
  return { cron: `${minute % 60} ${Math.floor(minute / 60)} * * *`, zone, jitterSeconds: 0 };
}

/** Returns the last scheduled time by `now` if it is later than `due`, else `due`: one run stands for both. */
export function latestDue(schedule: CronSchedule, due: Date, now: Date): Date {
  const [first, second, third] = nextRuns(schedule, new Date(now.getTime() - 2 * DAY_MS), 3);
  const past = [first!, second!, third!].filter((time) => time <= now).at(-1);
  return past && past > due ? past : due;
}

/** Returns the last local midnight by an instant; in a gap the day's first instant, of two the first. */
export function lastMidnight(zone: string, instant: Date): Date {
  const clock = zoneClock(zone);
  const ms = instant.getTime();
  const today = dayAt(clock, ms);
  // Clocks that go back over midnight show a day that had ended; a skipped day (Samoa's) begins with the next.
  const starts = [today + DAY_MS, today, today - DAY_MS].map((time) => clock.instantOf(time, { gap: 'end' }));
  return new Date(starts.find((start) => start <= ms)!);
}
