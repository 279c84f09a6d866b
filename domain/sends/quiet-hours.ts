import { DateTime } from 'luxon';

/** When an app's people are left alone, in minutes of the day; one that ends before it starts goes over midnight. */
export type QuietHours = { start: number; end: number; timezone: string };

const DAY_MINUTES = 1_440;
/** Clocks that were set forward or back show quiet hours again, twice at most. */
const MAX_STEPS = 4;

/** When a message may go: `now`, or the first moment outside the quiet hours, if there are any, that it falls into. */
export function endOfQuiet(quiet: QuietHours | null, now: Date): Date {
  if (quiet === null) return now;
  let at: DateTime = DateTime.fromJSDate(now, { zone: quiet.timezone });
  for (let step = 0; step < MAX_STEPS && isQuiet(quiet, at); step += 1) at = nextEnd(quiet, at);
  return at.toJSDate();
}

function isQuiet({ start, end }: QuietHours, at: DateTime): boolean {
  const minute = minuteOf(at);
  return start <= end ? minute >= start && minute < end : minute >= start || minute < end;
}

function nextEnd({ end }: QuietHours, at: DateTime): DateTime {
  const left = end - minuteOf(at);
  const day = left > 0 ? at : at.plus({ days: 1 });
  const ends = day.set({ hour: Math.floor(end / 60), minute: end % 60, second: 0, millisecond: 0 });
  // Of a time that the clock shows twice, `set` takes the first, which may be over.
  return ends > at ? ends : at.startOf('minute').plus({ minutes: left > 0 ? left : left + DAY_MINUTES });
}

const minuteOf = (at: DateTime) => at.hour * 60 + at.minute;
