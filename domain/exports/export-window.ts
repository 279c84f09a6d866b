/** Windows of export runs: which period a scheduled run or a backfill exports. */
import { DAY_MS } from '../time/durations.ts';
import { dayAt, zoneClock } from '../time/date-value.ts';

/** The window of a run, [start, end), by receipt, or for a backfill by event time; start null: from the beginning. */
export type ExportWindow = { kind: 'received' | 'happened'; start: Date | null; end: Date };

/** Local days of a backfill, both included: `2026-01-01`. */
export type ExportDays = { from: string; to: string };

const MAX_DAYS = 400;
const DAY = /^\d{4}-\d\d-\d\d$/;

export type DaysError = { element: 'from' | 'to'; message: string };

/** Returns the window of local days, of 23 or 25 hours if the clocks of `zone` change. */
export function backfillWindow({ from, to }: ExportDays, zone: string): ExportWindow & { start: Date } {
  const clock = zoneClock(zone);
  return {
    kind: 'happened',
    start: new Date(clock.instantOf(dayMs(from)!, { gap: 'end' })),
    end: new Date(clock.instantOf(dayMs(to)! + DAY_MS, { gap: 'end' })),
  };
}

export function daysError({ from, to }: ExportDays, zone: string, now: Date): DaysError | undefined {
  const [first, last] = [dayMs(from), dayMs(to)];
  const today = dayAt(zoneClock(zone), now.getTime());
  if (first === undefined) return { element: 'from', message: 'must be a day such as 2026-01-31' };
  if (last === undefined) return { element: 'to', message: 'must be a day such as 2026-01-31' };
  if (last < first) return { element: 'to', message: 'must not be before from' };
  if (last > today) {
    return {
      element: 'to',
      message: `must not be in the future: in ${zone} it is ${new Date(today).toISOString().slice(0, 10)}`,
    };
  }
  const days = (last - first) / DAY_MS + 1;
  return days > MAX_DAYS
    ? { element: 'to', message: `must be within ${MAX_DAYS} days of from, and these are ${days}` }
    : undefined;
}

/** Returns a folder such as 2026-11-19T23-00-00Z_2026-11-20T23-00-00Z; for a backfill, its days. */
export function windowName({ start, end }: ExportWindow, days: ExportDays | null): string {
  return days ? `backfill/${days.from}_${days.to}` : `${start ? instantName(start) : 'beginning'}_${instantName(end)}`;
}

/** Returns the folder of a window's files in the bucket, without slashes at its ends. */
export function exportFolder(
  { subfolder, identifier }: { subfolder: string; identifier: string },
  window: string,
): string {
  return [subfolder, identifier, window].filter((part) => part !== '').join('/');
}

/** S3 takes colons, and many tools don't. */
function instantName(instant: Date): string {
  return `${instant.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}

/** Returns a day's start in UTC; undefined for a day that the calendar lacks, or one before the year 1. */
function dayMs(day: string): number | undefined {
  const ms = DAY.test(day) && day >= '0001' ? Date.parse(day) : Number.NaN;
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== day ? undefined : ms;
}
