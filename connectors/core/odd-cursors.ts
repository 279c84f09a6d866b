import { DAY_MS } from '../../domain/time/durations.ts';

/**
 * Odd cursors: cursor values that are NaN, infinite, or over a day ahead of the source's clock. After one of them no
 * new value would ever come, so each reading returns their records, and the cursor stays before them.
 */

/** How far ahead of the source's clock a time still moves the cursor, in ms. */
export const AHEAD_MS = DAY_MS;

/** Returns whether a time is an odd cursor; both in ms since 1970. */
export const isAhead = (timeMs: number, clockMs: number) => timeMs > clockMs + AHEAD_MS;

/** Returns a line for the run's log. */
export function sayOddCursors(count: number, field: string): string {
  return (
    `${count} ${count === 1 ? 'record has' : 'records have'} a value in ${field} that cannot be a cursor (NaN, an infinity, or over ` +
    "a day ahead of the source's clock): each run reads them again, and the cursor stays before them"
  );
}

/** Returns the line for a reading whose cursor an earlier version left at such a value. */
export const sayStuckCursor = (field: string) =>
  `the cursor stood at a value of ${field} behind which nothing new would come: all is read again`;
