import { DAY_MS, DAY_SECONDS } from '../time/durations.ts';
import { type FieldError, refuse, refuseFields } from '../core/refusal.ts';

/** Whole UTC days: `from` is the first one's midnight, `until` the one after the last. */
export type DayPeriod = { from: Date; until: Date };

/** A period has so many days at most. */
const MAX_DAYS = 731;

const MIDNIGHT = 'must be a midnight in UTC, in seconds since the epoch, such as 1793491200';

/**
 * The days from `sd` to `ed`, both included; midnights in UTC, in seconds since the epoch. Null: neither is there. One
 * without the other is refused as the reference says (reference: Data exports, 4), anything else by the field.
 */
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

/**
 * The whole UTC days between two moments, from the midnight `from` to before the midnight `until`: each null where its
 * moment is not given. Null: there is no whole day.
 */
export function wholeDays(
  since: Date | undefined,
  until: Date | undefined,
): { from: Date | null; until: Date | null } | null {
  const from = since ? Math.ceil(since.getTime() / DAY_MS) * DAY_MS : null;
  const end = until ? Math.floor(until.getTime() / DAY_MS) * DAY_MS : null;
  if (from !== null && end !== null && from >= end) return null;
  return { from: from === null ? null : new Date(from), until: end === null ? null : new Date(end) };
}

/** The same number of days, immediately before. */
export function periodBefore({ from, until }: DayPeriod): DayPeriod {
  return { from: new Date(2 * from.getTime() - until.getTime()), until: from };
}

const DEFAULT_DAYS = 6;

/**
 * The last six days, today among them: where a file of events is asked for without days (reference: Data exports, 4).
 */
export function lastDays(now: Date): DayPeriod {
  return daysUpTo(Math.floor(now.getTime() / DAY_MS) * DAY_MS + DAY_MS);
}

/** The last six days of the month before: where one of an event's details is. */
export function lastDaysOfPreviousMonth(now: Date): DayPeriod {
  return daysUpTo(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
}

const daysUpTo = (until: number): DayPeriod => ({
  from: new Date(until - DEFAULT_DAYS * DAY_MS),
  until: new Date(until),
});

/** Each of its days, in order. */
export function* daysOf({ from, until }: DayPeriod): Generator<DayPeriod> {
  for (let day = from.getTime(); day < until.getTime(); day += DAY_MS)
    yield { from: new Date(day), until: new Date(day + DAY_MS) };
}
