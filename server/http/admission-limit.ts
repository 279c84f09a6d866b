import { refuse } from '../../domain/core/refusal.ts';

type Budget = {
  take(entityId: number, bytes: number): boolean | Promise<boolean>;
  giveBack?(entityId: number, bytes: number): void;
};

/** Refuses requests beyond a budget with 429, and says when to try again. `what`: the work they wait for. */
export class AdmissionLimit {
  readonly #budget: Budget;
  readonly #what: string;
  readonly #retrySeconds: number;

  constructor(budget: Budget, { what, retrySeconds }: { what: string; retrySeconds: number }) {
    this.#budget = budget;
    this.#what = what;
    this.#retrySeconds = retrySeconds;
  }

  async take(entityId: number, bytes: number): Promise<void> {
    if (await this.#budget.take(entityId, bytes)) return;
    const seconds = `${this.#retrySeconds} second${this.#retrySeconds === 1 ? '' : 's'}`;
    const message = `Too much waits to be ${this.#what}: try again in ${seconds}`;
    refuse(429, 'too_many_requests', message, { retry_after: this.#retrySeconds });
  }

  async within<T>(entityId: number, bytes: number, work: () => Promise<T>): Promise<T> {
    await this.take(entityId, bytes);
    try {
      return await work();
    } finally {
      this.#budget.giveBack?.(entityId, bytes);
    }
  }
}
