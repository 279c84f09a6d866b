import { closestRunsMinutes, cronError, cronRuns } from '../time/cron-pattern.ts';
import { MINUTE_MS } from '../time/durations.ts';
import { isTimeZone } from '../time/time-zone.ts';

/** When a sync runs by itself: at the times of a cron in a time zone, or every so many minutes. */
export type SyncSchedule = CronSchedule | IntervalSchedule;
export type CronSchedule = { cron: string; zone: string; jitterSeconds: number };
export type IntervalSchedule = { everyMinutes: number; jitterSeconds: number };

const MAX_MINUTES = 10_080;
const MAX_JITTER_SECONDS = 3_600;

/** What is wrong with a schedule, by its wire element, and what would be right. */
export function scheduleError(schedule: SyncSchedule): { element: string; message: string } | undefined {
  return 'cron' in schedule ? cronScheduleError(schedule) : intervalError(schedule);
}

/** The next `count` runs after an instant, in order; those of intervals fall on its multiples since 1970 (UTC). */
export function nextRuns(schedule: SyncSchedule, after: Date, count: number): Date[] {
  const runs: Date[] = [];
  if (count < 1) return runs;
  for (const run of runsAfter(schedule, after)) if (runs.push(run) >= count) break;
  return runs;
}

/** How many runs are due after `after` and by `until`, counted up to `most`. */
export function runsBetween(schedule: SyncSchedule, after: Date, until: Date, most: number): number {
  let count = 0;
  if (most < 1) return count;
  for (const run of runsAfter(schedule, after)) {
    if (run > until) break;
    count += 1;
    if (count === most) break;
  }
  return count;
}

function runsAfter(schedule: SyncSchedule, after: Date): Iterable<Date> {
  return 'cron' in schedule ? cronRuns(schedule.cron, schedule.zone, after) : intervalRuns(schedule, after);
}

/** Multiples since 1970: they don't shift when a schedule is edited. */
function* intervalRuns({ everyMinutes }: IntervalSchedule, after: Date): Generator<Date> {
  const step = everyMinutes * MINUTE_MS;
  for (let multiple = Math.floor(after.getTime() / step) + 1; ; multiple += 1) yield new Date(multiple * step);
}

function cronScheduleError({ cron, zone, jitterSeconds }: CronSchedule) {
  const message = cronError(cron);
  if (message) return { element: 'schedule.cron', message };
  if (!isTimeZone(zone)) {
    return { element: 'schedule.zone', message: 'takes a zone of the IANA database, such as Europe/Paris or UTC' };
  }
  return jitterError(jitterSeconds, closestRunsMinutes(cron));
}

function intervalError({ everyMinutes, jitterSeconds }: IntervalSchedule) {
  if (!Number.isInteger(everyMinutes) || everyMinutes < 1 || everyMinutes > MAX_MINUTES) {
    return { element: 'schedule.every_minutes', message: 'takes a whole number of minutes, 1 to 10,080 (a week)' };
  }
  return jitterError(jitterSeconds, everyMinutes);
}

/** Returns an error for a jitter longer than the time to the next run: two runs would coincide. */
function jitterError(jitterSeconds: number, distanceMinutes: number) {
  const most = Math.min(MAX_JITTER_SECONDS, distanceMinutes * 60 - 1);
  if (Number.isInteger(jitterSeconds) && jitterSeconds >= 0 && jitterSeconds <= most) return undefined;
  const why = most < MAX_JITTER_SECONDS ? ', less than the distance between two runs' : '';
  return { element: 'schedule.jitter_seconds', message: `takes whole seconds, 0 to ${most}${why}` };
}
