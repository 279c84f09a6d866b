/** Lengths of time in ms, and the wait before a retry. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** A day in seconds. */
export const DAY_SECONDS = 86_400;

/** The wait after so many tries in a row have failed, at least 1: it doubles from try to try. */
export function backOff(tries: number, firstMs: number, maxMs = Infinity): number {
  return Math.min(firstMs * 2 ** (tries - 1), maxMs);
}
