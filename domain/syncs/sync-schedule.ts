/** Schedules of syncs: checks them, and lists the next times of runs. */
import { Cron, CronPattern } from 'croner';
import { MINUTE_MS } from '../time/durations.ts';
import { isTimeZone } from '../time/time-zone.ts';
import { zoneClock } from '../time/date-value.ts';

/** Schedule of a sync: the times of a cron in a time zone, or an interval in minutes. */
export type SyncSchedule = CronSchedule | IntervalSchedule;
export type CronSchedule = { cron: string; zone: string; jitterSeconds: number };
export type IntervalSchedule = { everyMinutes: number; jitterSeconds: number };

const MAX_MINUTES = 10_080;
const MAX_JITTER_SECONDS = 3_600;

export function scheduleError(schedule: SyncSchedule): { element: string; message: string } | undefined {
  return 'cron' in schedule ? cronScheduleError(schedule) : intervalError(schedule);
}

/** Returns the next runs in order; those of intervals fall on multiples since 1970 (UTC). */
export function nextRuns(schedule: SyncSchedule, after: Date, count: number): Date[] {
  const runs: Date[] = [];
  if (count < 1) return runs;
  for (const run of runsAfter(schedule, after)) if (runs.push(run) >= count) break;
  return runs;
}

/** Counts runs that are due after `after` and by `until`, up to `most`. */
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

/** Yields multiples since 1970: they don't shift when a schedule is edited. */
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

const FIELDS = [
  { name: 'minute', takes: '0 to 59' },
  { name: 'hour', takes: '0 to 23' },
  { name: 'day of the month', takes: '1 to 31, L for the last, 15W for the weekday nearest to the 15th' },
  { name: 'month', takes: '1 to 12, JAN to DEC' },
  {
    name: 'day of the week',
    takes: '0 to 7 with 0 and 7 for Sunday, SUN to SAT, FRI#2 for the second Friday, FRIL for the last',
  },
];

/** Nicknames of whole crons, as in Vixie's cron, without @reboot. */
const NICKNAMES = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const MAX_LENGTH = 256;
const DAY_MINUTES = 1_440;
const FIVE_PARTS = { mode: '5-part' } as const;

/** Returns what is wrong with a cron of five fields or a nickname such as @daily, and what would be right. */
function cronError(cron: string): string | undefined {
  if (cron.length > MAX_LENGTH) return `takes up to ${MAX_LENGTH} characters`;
  const fields = fieldsOf(cron);
  if (fields[0]!.startsWith('@')) return `the names it takes are ${[...NICKNAMES.keys()].join(', ')}`;
  if (fields.length !== FIELDS.length) {
    return `takes five fields (${FIELDS.map(({ name }) => name).join(', ')}), such as 0 3 * * *`;
  }
  const wrong = fields.findIndex((field, position) => !isField(field, position));
  if (wrong !== -1) return fieldError(fields[wrong]!, FIELDS[wrong]!);
  const isEver = new Cron(fields.join(' '), { ...FIVE_PARTS, timezone: 'UTC' }).nextRun(new Date(0));
  return isEver ? undefined : 'never comes: its months have no such day';
}

/** Returns the minutes between the two runs, on one day or on two in a row, that are closest to each other. */
function closestRunsMinutes(cron: string): number {
  const { hour, minute } = new CronPattern(fieldsOf(cron).join(' '), undefined, FIVE_PARTS);
  const times = numbersIn(hour).flatMap((hours) => numbersIn(minute).map((minutes) => hours * 60 + minutes));
  return Math.min(...times.map((time, index) => (times[index + 1] ?? times[0]! + DAY_MINUTES) - time));
}

/**
 * Yields the runs of a cron by Vixie's rules: if its minute or hour begins with * it follows the clocks, so a skipped
 * time does not run and a repeated one runs twice. Any other runs once: at the end of the gap, or the first of two.
 */
function cronRuns(cron: string, zone: string, after: Date): Iterable<Date> {
  const fields = fieldsOf(cron);
  const followsClocks = fields.slice(0, 2).some((field) => field.startsWith('*'));
  if (followsClocks) return new Cron(fields.join(' '), { ...FIVE_PARTS, timezone: zone }).enumerate(after);
  return fixedRuns(fields.join(' '), zone, after);
}

/** Yields runs at fixed times by wall-clock times: croner drops one in a gap that ends at midnight. */
function* fixedRuns(cron: string, zone: string, after: Date): Generator<Date> {
  const clock = zoneClock(zone);
  let last = after.getTime();
  for (const time of new Cron(cron, { ...FIVE_PARTS, timezone: 'UTC' }).enumerate(new Date(clock.timeAt(last)))) {
    const instant = clock.instantOf(time.getTime(), { gap: 'end' });
    if (instant <= last) continue;
    last = instant;
    yield new Date(instant);
  }
}

function fieldsOf(cron: string): string[] {
  const trimmed = cron.trim();
  return (NICKNAMES.get(trimmed.toLowerCase()) ?? trimmed).split(/\s+/);
}

function fieldError(field: string, { name, takes }: (typeof FIELDS)[number]): string {
  return `the ${name} can't be ${field}: it takes ${takes}; also *, lists as 1,3, ranges as 1-5, steps as */2 or 1-9/2`;
}

/** Checks one field alone, as croner does; croner's ? and + are not part of cron. */
function isField(field: string, position: number): boolean {
  if (!/^[\dA-Za-z*,/#-]+$/.test(field)) return false;
  try {
    new CronPattern(FIELDS.map((_, at) => (at === position ? field : '*')).join(' '), undefined, FIVE_PARTS);
    return true;
  } catch {
    return false;
  }
}

function numbersIn(marks: number[]): number[] {
  return [...marks.keys()].filter((number) => marks[number] !== 0);
}
