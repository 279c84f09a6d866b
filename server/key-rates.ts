import { refuse } from '../domain/refusal.ts';

const WINDOW_MS = 60_000;

/** Refuses with 429 what goes beyond so many requests a minute of one write key; 0 for no limit. Each server counts its own. */
export class KeyRates {
  readonly #perMinute: number;
  #counts = new Map<string, number>();
  #until = 0;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** To be called of keys that are known: made-up ones are not counted. */
  take(writeKey: string): void {
    if (this.#perMinute === 0) return;
    const now = performance.now();
    if (now >= this.#until) {
      this.#counts = new Map();
      this.#until = now + WINDOW_MS;
    }
    const count = (this.#counts.get(writeKey) ?? 0) + 1;
    this.#counts.set(writeKey, count);
    if (count <= this.#perMinute) return;
    const seconds = Math.ceil((this.#until - now) / 1000);
    refuse(429, 'too_many_requests', `More than ${this.#perMinute} requests in a minute: try again in ${seconds} seconds`, {
      retry_after: seconds,
    });
  }
}
