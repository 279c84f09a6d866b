/** Values that the requests of a process share by name, such as tokens: each is kept for a time after its last use. */
export class KeptValues<T> {
  readonly #kept = new Map<string, { value: T; usedAt: number }>();
  readonly #most: number;
  readonly #keptMs: number;

  constructor(most: number, keptMs: number) {
    this.#most = most;
    this.#keptMs = keptMs;
  }

  /** Returns the value of this name, made if there is none. Drops those that are too old, or too many. */
  of(name: string, make: () => T): T {
    const now = performance.now();
    for (const [other, { usedAt }] of this.#kept) {
      if (now - usedAt > this.#keptMs || this.#kept.size > this.#most) this.#kept.delete(other);
    }
    const value = this.#kept.get(name)?.value ?? make();
    // Behind all others: the first ones are dropped first.
    this.#kept.delete(name);
    this.#kept.set(name, { value, usedAt: now });
    return value;
  }
}
