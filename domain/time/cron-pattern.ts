/** Crons: checks them, and lists the times when they run. */
import { Cron, CronPattern } from 'croner';
import { zoneClock } from './zone-clock.ts';

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
export function cronError(cron: string): string | undefined {
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
export function closestRunsMinutes(cron: string): number {
  const { hour, minute } = new CronPattern(fieldsOf(cron).join(' '), undefined, FIVE_PARTS);
  const times = numbersIn(hour).flatMap((hours) => numbersIn(minute).map((minutes) => hours * 60 + minutes));
  return Math.min(...times.map((time, index) => (times[index + 1] ?? times[0]! + DAY_MINUTES) - time));
}

/**
 * Yields the runs of a valid cron after an instant, in order. Clock changes follow Vixie's rules: a cron whose minute
 * or hour begins with * follows the clocks, so a skipped time does not run and a repeated one runs twice. Any other
 * cron runs once a time: at the end of the gap for a skipped time, and at the first of two.
 */
export function cronRuns(cron: string, zone: string, after: Date): Iterable<Date> {
  const fields = fieldsOf(cron);
  const followsClocks = fields.slice(0, 2).some((field) => field.startsWith('*'));
  if (followsClocks) return new Cron(fields.join(' '), { ...FIVE_PARTS, timezone: zone }).enumerate(after);
  return fixedRuns(fields.join(' '), zone, after);
}

/**
 * Yields runs at fixed times. croner only gets times of the clocks, since it drops a time in a gap that ends at
 * midnight (Greenland's).
 */
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
