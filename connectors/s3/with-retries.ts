import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../domain/core/refusal.ts';

export type RetryOptions = {
  signal: AbortSignal;
  /** How long after the first failure a new try may begin. */
  withinMs: number;
  /** Gets new credentials; null where there are none to be had. */
  renew: (() => Promise<unknown>) | null;
  /** It doubles from try to try; default FIRST_WAIT_MS. For tests. */
  firstWaitMs?: number | undefined;
};

export const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** Of credentials that are refused as soon as they are given. */
const RENEWALS = 3;
const PASSING = new Set<string | number>(['source_unavailable', 'transfer_broken']);

/**
 * Tries again what was refused for a while only, each time after a longer wait, or after the one that was asked for.
 * Expired credentials are renewed. `again` tells the try that earlier ones may have got through without our knowing.
 */
export async function withRetries<T>(
  act: (again: boolean) => Promise<T>,
  { signal, withinMs, renew, firstWaitMs = FIRST_WAIT_MS }: RetryOptions,
): Promise<T> {
  let deadline: number | undefined;
  let renewals = 0;
  for (let tries = 0; ; tries += 1) {
    try {
      return await act(tries > 0);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Refusal) || !PASSING.has(error.status)) throw error;
      if (renew && error.extra['source_code'] === 'ExpiredToken' && renewals < RENEWALS) {
        renewals += 1;
        await renew();
        continue;
      }
      const now = performance.now();
      deadline ??= now + withinMs;
      const waitMs = waitAfter(firstWaitMs * 2 ** tries, error.extra['retry_after']);
      if (now + waitMs > deadline) throw error;
      await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** Half of it by chance, so that those who were sent away together do not come back together. */
function waitAfter(usualMs: number, asked: unknown): number {
  const least = typeof asked === 'number' ? asked * 1_000 : 0;
  const most = Math.min(usualMs, LONGEST_WAIT_MS);
  return Math.max(least, most / 2 + (Math.random() * most) / 2);
}
