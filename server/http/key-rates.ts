import { refuse } from '../../domain/core/refusal.ts';

const WINDOW_MS = 60_000;

/**
 * Refuses with 429 what goes beyond so many requests a minute of one key; 0 for no limit. Each server counts its own.
 */
export class KeyRates {
  readonly #perMinute: number;
  #counts = new Map<string, number>();
  #until = 0;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Counts a request. To be called of keys that are known: made-up ones are not counted. */
  take(key: string): void {
    if (this.#perMinute === 0) return;
    const count = this.#count(key) + 1;
    this.#counts.set(key, count);
    if (count > this.#perMinute) this.#refuse();
  }

  /** Counts nothing. */
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
