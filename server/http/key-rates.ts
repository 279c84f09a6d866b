/** Limits requests per minute by key. */
import { refuse } from '../../domain/core/refusal.ts';

const WINDOW_MS = 60_000;

/** Refuses requests beyond `perMinute` with 429; 0 is no limit. Each server counts its own. */
export class KeyRates {
  readonly #perMinute: number;
  #counts = new Map<string, number>();
  #until = 0;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Counts a request. Call it only for known keys, so that made-up ones take no memory. */
  take(key: string): void {
    if (this.#perMinute === 0) return;
    const count = this.#count(key) + 1;
    this.#counts.set(key, count);
    if (count > this.#perMinute) this.#refuse();
  }

  refuseBeyond(key: string): void {
    if (this.#perMinute !== 0 && this.#count(key) >= this.#perMinute) this.#refuse();
  }

  #count(key: string): number {
    const now = performance.now();
    if (now >= this.#until) {
      this.#counts = new Map();
      this.#until = now + WINDOW_MS;
    }
    return this.#counts.get(key) ?? 0;
  }

  #refuse(): never {
    const seconds = Math.ceil((this.#until - performance.now()) / 1000);
    return refuse(
      429,
      'too_many_requests',
      `More than ${this.#perMinute} requests in a minute: try again in ${seconds} seconds`,
      {
        retry_after: seconds,
      },
    );
  }
}
