/** Values that the requests of a process share by name, such as tokens, and values that a run asks for once. */
import type { ConnectorContext } from './contract.ts';

/** Values by name: each is kept for a time after its last use. */
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

/** Values that a run asks for once, by its context and a name. */
export class RunValues<T> {
  readonly #byRun = new WeakMap<ConnectorContext, Map<string, T>>();

  async of(context: ConnectorContext, name: string, ask: () => Promise<T>): Promise<T> {
    const ofRun = this.#byRun.get(context) ?? new Map<string, T>();
    this.#byRun.set(context, ofRun);
    const found = ofRun.get(name);
    if (found !== undefined) return found;
    const value = await ask();
    ofRun.set(name, value);
    return value;
  }
}
