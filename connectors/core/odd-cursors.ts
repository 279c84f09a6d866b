import { DAY_MS } from '../../domain/time/durations.ts';

/**
 * Odd cursors: values of a cursor's field that are NaN, infinite, or over a day ahead of the source's clock. Behind one
 * of them nothing new would ever come. So each reading brings their records, and the cursor stays before them.
 */

/** How far ahead of the source's clock a time still moves the cursor, ms. */
export const AHEAD_MS = DAY_MS;

/** Whether a time is an odd cursor; both in ms since 1970. */
export const isAhead = (timeMs: number, clockMs: number) => timeMs > clockMs + AHEAD_MS;

/** Returns the line for the run's log. */
export function sayOddCursors(count: number, field: string): string {
  return (
    `${count} ${count === 1 ? 'record has' : 'records have'} a value in ${field} that cannot be a cursor (NaN, an infinity, or over ` +
    "a day ahead of the source's clock): each run reads them again, and the cursor stays before them"
  );
}

/** The line for a reading whose cursor stands at such a value, where an earlier version has put it. */
export const sayStuckCursor = (field: string) =>
  `the cursor stood at a value of ${field} behind which nothing new would come: all is read again`;
