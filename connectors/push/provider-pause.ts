import type { PushOutcome } from '../../domain/sends/push.ts';
import { retryAfterSeconds } from '../core/source-refusal.ts';
import { HOUR_MS } from '../../domain/time/durations.ts';

/** A time in an answer counts up to this, so that no other side stops sends for days. */
const MAX_RETRY_MS = HOUR_MS;

/** Retry-After of an answer in milliseconds; `otherwise` where it names none. */
export function retryAfterMs(header: string | string[] | undefined, otherwise: number): number {
  const seconds = retryAfterSeconds([header].flat()[0]);
  return seconds === undefined ? otherwise : Math.min(seconds * 1_000, MAX_RETRY_MS);
}

/** While a provider has asked to be left alone, attempts are answered here and never reach it. */
export class ProviderPause {
  readonly #now: () => number;
  #until = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Null: go on. */
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
