export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const DAY_SECONDS = 86_400;

/** Returns the wait after this number of failed tries in a row, at least 1. It doubles from try to try. */
export function backOff(tries: number, firstMs: number, maxMs = Infinity): number {
  return Math.min(firstMs * 2 ** (tries - 1), maxMs);
}
