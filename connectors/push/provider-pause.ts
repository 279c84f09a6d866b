import type { PushOutcome } from '../../domain/sends/push.ts';
import { retryAfterSeconds } from '../core/source-refusal.ts';
import { HOUR_MS } from '../../domain/time/durations.ts';

/** Maximum pause, so that no answer stops sends for days. */
const MAX_RETRY_MS = HOUR_MS;

/** Returns Retry-After of an answer in milliseconds, or `otherwise`. */
export function retryAfterMs(header: string | string[] | undefined, otherwise: number): number {
  const seconds = retryAfterSeconds([header].flat()[0]);
  return seconds === undefined ? otherwise : Math.min(seconds * 1_000, MAX_RETRY_MS);
}

/** Answers attempts itself while a provider has asked for a pause. */
export class ProviderPause {
  readonly #now: () => number;
  #until = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the outcome of an attempt during the pause; null: send it. */
  outcome(): PushOutcome | null {
    const left = this.#until - this.#now();
    return left > 0 ? { kind: 'throttled', retryAfterMs: left, scope: 'provider' } : null;
  }

  heed(outcome: PushOutcome): PushOutcome {
    if (outcome.kind === 'throttled' && outcome.scope === 'provider') {
      this.#until = Math.max(this.#until, this.#now() + outcome.retryAfterMs);
    }
    return outcome;
  }
}
