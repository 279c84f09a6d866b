/** A chain goes through so many steps, all within so much time of its start. */
export type ChainRules = { steps: number; maxMicros: number };

/** Of one person's completions of a step: the first, the start of its chain, and the last; all in microseconds. */
type Completion = { first: number; start: number; last: number };

/**
 * The chains of one person, whose events come in the order of their time and id. A chain that starts later leaves more
 * time, so of each step only the latest start is kept: a completion that any chain reaches is then found, and along the
 * events the starts never fall.
 */
export class FunnelChains {
  readonly completions: (Completion | null)[];
  /** By step: the start of the latest chain that completed it. */
  readonly #starts: number[];
  /** By step: whether an event has broken the chains that completed it. */
  readonly #broken: boolean[];
  readonly #maxMicros: number;

  constructor({ steps, maxMicros }: ChainRules) {
    this.#maxMicros = maxMicros;
    this.completions = Array.from({ length: steps }, () => null);
    this.#starts = Array.from({ length: steps }, () => -Infinity);
    this.#broken = Array.from({ length: steps }, () => false);
  }

  /** An event, with a bit for each step that it may complete, and one for each step after which it breaks chains. */
  follow(micros: number, stepBits: number, breakBits: number): void {
    // From the last step on: an event completes one step of a chain, so it goes on with what earlier ones left.
    for (let step = this.completions.length - 1; step >= 0; step -= 1) {
      const bit = 1 << step;
      if (breakBits & bit) this.#broken[step] = true;
      if (stepBits & bit) this.#complete(step, micros);
    }
  }

  #complete(step: number, micros: number): void {
    const start = step === 0 ? micros : this.#starts[step - 1]!;
    if (micros > start + this.#maxMicros || (step > 0 && this.#broken[step - 1])) return;
    this.#starts[step] = start;
    this.#broken[step] = false;
    const completion = this.completions[step];
    if (completion) completion.last = micros;
    else this.completions[step] = { first: micros, start, last: micros };
  }
}
