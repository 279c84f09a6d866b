import type { Refusal } from '../../domain/core/refusal.ts';

/** Tries in a row that got no further. What may pass by itself is waited for: with these waits for a day. */
const TRIES = { passing: 105, final: 3 };
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** What a bucket may ask for by itself. */
const LONGEST_ASKED_MS = 24 * 3_600_000;

/** Errors of a bucket that may pass by themselves: for every other one somebody has to change something. */
const PASSING = new Set<string | number>(['source_unavailable', 'transfer_broken']);

/** How long to wait before the next try at a bucket, after so many `tries` before this one; null: it has been tried often enough. */
export function waitForBucket(tries: number, { status, extra }: Refusal): number | null {
  if (tries + 1 >= TRIES[PASSING.has(status) ? 'passing' : 'final']) return null;
  const { retry_after: asked } = extra;
  if (typeof asked === 'number') return Math.min(Math.max(asked * 1_000, FIRST_WAIT_MS), LONGEST_ASKED_MS);
  return Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS);
}
