import { refuse, refuseField } from '../core/refusal.ts';

const DAY_SECONDS = 86_400;
/** 9999-12-31. */
const LAST_DAY = 253_402_214_400;
/** Ten years: a file has up to a row for each day. */
const MAX_DAYS = 3_660;

/** Whole days in UTC, both included: the midnights that they begin with, in seconds since 1970. */
export type DayPeriod = { firstDay: number; lastDay: number };

/** The days of `sd` and `ed`, both of which must be given (reference: Data exports, 4). */
export function requiredPeriod(sd: string | undefined, ed: string | undefined): DayPeriod {
  if (sd === undefined || sd === '') return refuse(404, 400, 'Missing start date');
  if (ed === undefined || ed === '') return refuse(404, 400, 'Missing end date');
  const period = { firstDay: midnight('sd', sd), lastDay: midnight('ed', ed) };
  if (period.lastDay < period.firstDay) return refuseField('ed', 'must not lie before sd');
  if (daysOf(period) > MAX_DAYS) return refuseField('ed', `must lie within ${MAX_DAYS.toLocaleString('en-US')} days of sd`);
  return period;
}

/** The days of `sd` and `ed`, or where neither is given the last six up to `lastDay`. */
export function periodOr(lastDay: number, sd: string | undefined, ed: string | undefined): DayPeriod {
  if ((sd === undefined || sd === '') && (ed === undefined || ed === '')) return { firstDay: lastDay - 5 * DAY_SECONDS, lastDay };
  return requiredPeriod(sd, ed);
}

/** The day of a moment. */
export const dayOf = (now: Date): number => Math.floor(now.getTime() / 1000 / DAY_SECONDS) * DAY_SECONDS;

/** The last day of the month before a moment's. */
export const lastDayOfPreviousMonth = (now: Date): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0) / 1000;

export const daysOf = ({ firstDay, lastDay }: DayPeriod): number => (lastDay - firstDay) / DAY_SECONDS + 1;

/** From the first moment of the period to the first one after it. */
export const momentsOf = ({ firstDay, lastDay }: DayPeriod): { from: Date; until: Date } =>
  ({ from: new Date(firstDay * 1000), until: new Date((lastDay + DAY_SECONDS) * 1000) });

/** Each day of the period as a period, in order. */
export function* singleDays({ firstDay, lastDay }: DayPeriod): Generator<DayPeriod> {
  for (let day = firstDay; day <= lastDay; day += DAY_SECONDS) yield { firstDay: day, lastDay: day };
}

function midnight(element: 'sd' | 'ed', text: string): number {
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= LAST_DAY)) return refuseField(element, 'must be a midnight in UTC as seconds since 1970, such as 1767225600');
  const day = Math.floor(seconds / DAY_SECONDS) * DAY_SECONDS;
  if (day === seconds) return seconds;
  return refuseField(element, `must be a midnight in UTC: ${day} or ${day + DAY_SECONDS}`);
}
