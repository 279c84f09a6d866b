import { refuse } from '../../domain/core/refusal.ts';
import { SharedBudget } from '../../domain/core/semaphore.ts';

const RETRY_SECONDS = 1;

/**
 * Bounds what waits to be taken in: bytes of bodies, shared out by entity. A body is let in if it is its entity's only
 * one.
 */
export class TrackingAdmissionLimit {
  readonly #budget: SharedBudget;

  constructor(mostBytes: number) {
    this.#budget = new SharedBudget(mostBytes);
  }

  /** Does the work of a body of so many bytes, or refuses with 429 and when to try again, as SDKs do. */
  async within<T>(entityId: number, bytes: number, work: () => Promise<T>): Promise<T> {
    if (!this.#budget.take(entityId, bytes)) {
      const message = `Too much waits to be taken in: try again in ${RETRY_SECONDS} second`;
      refuse(429, 'too_many_requests', message, { retry_after: RETRY_SECONDS });
    }
    try {
      return await work();
    } finally {
      this.#budget.giveBack(entityId, bytes);
    }
  }
}
