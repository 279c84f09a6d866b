import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../domain/core/refusal.ts';

/** A longer wait belongs to the run, which holds nothing while it waits. */
const MAX_WAIT_MS = 2_000;
/** So long a receiver may put off one request. */
const MAX_PUT_OFF_MS = 10_000;
const MIN_WAIT_MS = 250;
/** Each request that is taken shortens the pause before the next by this. */
const SPEED_UP = 0.98;

/**
 * The pace at which a receiver takes requests. It begins without pauses. A receiver that asks for one (429 or 503 with
 * a short
 * `Retry-After`) gets it; from then on requests come as fast as it has taken them, and slowly faster.
 */
export class Pace {
  #pauseMs = 0;
  #nextAt = 0;
  #measuredSince = performance.now();
  #taken = 0;

  /**
   * Sends a request when it is due, and again where the receiver puts it off. Throws what `send` throws for any other
   * reason.
   */
  async send<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let putOffMs = 0; ;) {
      await this.#turn(signal);
      try {
        const answer = await send();
        this.#taken += 1;
        this.#pauseMs *= SPEED_UP;
        return answer;
      } catch (error) {
        const waitMs = shortWait(error);
        if (waitMs === null || putOffMs + waitMs > MAX_PUT_OFF_MS) throw error;
        putOffMs += waitMs;
        this.#slowDown(waitMs);
      }
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.#nextAt - performance.now();
    if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    this.#nextAt = Math.max(performance.now(), this.#nextAt) + this.#pauseMs;
  }

  /** A receiver that says when to come back takes one request in that time at least. */
  #slowDown(waitMs: number): void {
    const endsAt = performance.now() + waitMs;
    if (this.#taken > 0) this.#pauseMs = Math.min((endsAt - this.#measuredSince) / this.#taken, waitMs);
    [this.#measuredSince, this.#taken, this.#nextAt] = [endsAt, 0, endsAt];
  }
}

/** How long a receiver wants to be left alone, where that is short; else null. */
function shortWait(error: unknown): number | null {
  if (!(error instanceof Refusal) || error.status !== 'source_unavailable') return null;
  const { retry_after: seconds } = error.extra;
  return typeof seconds === 'number' && seconds * 1_000 <= MAX_WAIT_MS ? Math.max(seconds * 1_000, MIN_WAIT_MS) : null;
}

/** So many receivers' paces are kept, each for as long after its last request. */
const MAX_KEPT = 1_000;
const KEPT_MS = 10 * 60_000;

const kept = new Map<string, { pace: Pace; usedAt: number }>();

/** The pace of the receiver at an address, shared by all that this process sends there. */
export function paceOf(url: string): Pace {
  const now = performance.now();
  for (const [other, { usedAt }] of kept) if (now - usedAt > KEPT_MS || kept.size > MAX_KEPT) kept.delete(other);
  const pace = kept.get(url)?.pace ?? new Pace();
  kept.delete(url);
  kept.set(url, { pace, usedAt: now });
  return pace;
}
