/** Times as the clocks of a zone show them, by the browser's own tables: the server's are too large for a page. */
import { DAY_MS } from '../../domain/time/durations.ts';

/** Returns what the clocks of a zone show as `2026-11-26T18:00`, the value of a field for date and time. */
export function wallTime(instant: number | string | Date, timeZone: string): string {
  const shown = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return shown.format(new Date(instant)).replace(' ', 'T');
}

/** Returns the instant at which the clocks of a zone show a time; NaN for a text that is none. */
export function instantOf(wall: string, timeZone: string): number {
  const guess = Date.parse(`${wall}Z`);
  if (Number.isNaN(guess)) return guess;
  const offsetAt = (instant: number): number => Date.parse(`${wallTime(instant, timeZone)}Z`) - floorMinute(instant);
  const first = guess - offsetAt(guess);
  return guess - offsetAt(first);
}

const floorMinute = (instant: number): number => Math.floor(instant / 60_000) * 60_000;

/** Returns day and time as `Thu 26 Nov, 18:00`. */
export function momentText(instant: number | string | Date, timeZone: string): string {
  const format = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-GB', { timeZone, ...options }).format(new Date(instant));
  return `${format({ weekday: 'short', day: 'numeric', month: 'short' }).replace(',', '')}, ${clockText(instant, timeZone)}`;
}

/** Returns the time of the day as `18:00`. */
function clockText(instant: number | string | Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'short' }).format(new Date(instant));
}

/** Hours in which no message leaves, such as 22:00 to 07:00, by the clocks of a zone. */
export type QuietHours = { start: string; end: string; timezone: string };

/** Returns the quiet hours between two instants. */
export function quietBetween({ start, end, timezone }: QuietHours, from: number, to: number): [number, number][] {
  const found: [number, number][] = [];
  for (let at = from - DAY_MS; at <= to; at += DAY_MS) {
    const day = wallTime(at, timezone).slice(0, 10);
    const next = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
    const begins = instantOf(`${day}T${start}`, timezone);
    const ends = instantOf(`${start <= end ? day : next}T${end}`, timezone);
    if (ends > from && begins < to) found.push([Math.max(begins, from), Math.min(ends, to)]);
  }
  return found;
}
