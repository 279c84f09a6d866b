/** The chains of one person through the steps of a funnel. */

export type ChainRules = { steps: number; maxMicros: number };

/**
 * A person's completions of a step, in microseconds: the first, the start of its chain, the time from the step before
 * in that chain (its earliest event that no exclusion breaks), and the last.
 */
type Completion = { first: number; start: number; sincePrevious: number; last: number };

/**
 * Follows a person's events in order of time and id. A chain that starts later leaves more time, so the latest start of
 * each step finds every completion that any chain reaches, and the starts never fall along the events.
 */
export class FunnelChains {
  readonly completions: (Completion | null)[];
  /** By step: the start of the latest chain that completed it. */
  readonly #starts: number[];
  /** By step: when that chain first completed it, unbroken. */
  readonly #reachedAt: number[];
  readonly #broken: boolean[];
  readonly #maxMicros: number;

  constructor({ steps, maxMicros }: ChainRules) {
    this.#maxMicros = maxMicros;
    this.completions = Array.from({ length: steps }, () => null);
    this.#starts = Array.from({ length: steps }, () => -Infinity);
    this.#reachedAt = Array.from({ length: steps }, () => -Infinity);
    this.#broken = Array.from({ length: steps }, () => false);
  }

  /** Follows an event: a bit for each step that it may complete, and for each after which it breaks chains. */
  follow(micros: number, stepBits: number, breakBits: number): void {
    // From the last step backwards: an event completes one step of a chain.
    for (let step = this.completions.length - 1; step >= 0; step -= 1) {
      const bit = 1 << step;
      if (breakBits & bit) this.#broken[step] = true;
      if (stepBits & bit) this.#complete(step, micros);
    }
  }

  #complete(step: number, micros: number): void {
    const start = step === 0 ? micros : this.#starts[step - 1]!;
    if (micros > start + this.#maxMicros || (step > 0 && this.#broken[step - 1])) return;
    if (start !== this.#starts[step] || this.#broken[step]) this.#reachedAt[step] = micros;
    this.#starts[step] = start;
    this.#broken[step] = false;
    const completion = this.completions[step];
    if (completion) completion.last = micros;
    else {
      const sincePrevious = step === 0 ? 0 : micros - this.#reachedAt[step - 1]!;
      this.completions[step] = { first: micros, start, sincePrevious, last: micros };
    }
  }
}
