import { refuse } from '../../domain/core/refusal.ts';
import { SharedBudget } from '../../domain/core/semaphore.ts';

const RETRY_SECONDS = 1;

/** Bounds the bytes of bodies under way, shared out by entity. Lets a body in if it is its entity's only one. */
export class TrackingAdmissionLimit {
  readonly #budget: SharedBudget;

  constructor(mostBytes: number) {
    this.#budget = new SharedBudget(mostBytes);
  }

  /** Does the work of a body, or refuses it with 429 and the time to wait, as SDKs know it. */
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
