/** Periods of whole UTC days, as exports and analytics are asked for them. */

import { type FieldError, refuse, refuseFields } from '../core/refusal.ts';
import { DAY_MS, DAY_SECONDS } from '../time/durations.ts';

/** Whole UTC days: from the first midnight to the midnight after the last day. */
export type DayPeriod = { from: Date; until: Date };

const MAX_DAYS = 731;

const MIDNIGHT = 'must be a midnight in UTC, in seconds since the epoch, such as 1793491200';

/** Reads the days from `sd` to `ed`, both included, as seconds of UTC midnights (reference: Data exports, 4). */
export function readDayPeriod({ sd, ed }: { sd?: string | undefined; ed?: string | undefined }): DayPeriod | null {
  if (sd === undefined && ed === undefined) return null;
  if (sd === undefined) return refuse(404, '400', 'Missing start date');
  if (ed === undefined) return refuse(404, '400', 'Missing end date');
  const errors: FieldError[] = [];
  for (const [element, given] of [
    ['sd', sd],
    ['ed', ed],
  ] as const) {
    if (!/^\d{1,11}$/.test(given) || Number(given) % DAY_SECONDS !== 0) errors.push({ element, message: MIDNIGHT });
  }
  const days = (Number(ed) - Number(sd)) / DAY_SECONDS + 1;
  if (errors.length === 0 && days < 1) errors.push({ element: 'ed', message: 'must not be before sd' });
  if (errors.length === 0 && days > MAX_DAYS)
    errors.push({ element: 'ed', message: `must be within ${MAX_DAYS} days` });
  refuseFields(errors);
  return { from: new Date(Number(sd) * 1_000), until: new Date((Number(ed) + DAY_SECONDS) * 1_000) };
}

/** Returns the whole UTC days between two moments; each end is null if its moment is. Null if there is no whole day. */
export function wholeDays(
  since: Date | undefined,
  until: Date | undefined,
): { from: Date | null; until: Date | null } | null {
  const from = since ? Math.ceil(since.getTime() / DAY_MS) * DAY_MS : null;
  const end = until ? Math.floor(until.getTime() / DAY_MS) * DAY_MS : null;
  if (from !== null && end !== null && from >= end) return null;
  return { from: from === null ? null : new Date(from), until: end === null ? null : new Date(end) };
}

const DEFAULT_DAYS = 6;

/** Returns the last days, today included; six are the default for files of events (reference: Data exports, 4). */
export function lastDays(now: Date, days = DEFAULT_DAYS): DayPeriod {
  return daysUpTo(Math.floor(now.getTime() / DAY_MS) * DAY_MS + DAY_MS, days);
}

/** Returns the last six days of the month before: the default for files of an event's details. */
export function lastDaysOfPreviousMonth(now: Date): DayPeriod {
  return daysUpTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
}

const daysUpTo = (until: number, days = DEFAULT_DAYS): DayPeriod => ({
  from: new Date(until - days * DAY_MS),
  until: new Date(until),
});

export function* daysOf({ from, until }: DayPeriod): Generator<DayPeriod> {
  for (let day = from.getTime(); day < until.getTime(); day += DAY_MS)
    yield { from: new Date(day), until: new Date(day + DAY_MS) };
}
