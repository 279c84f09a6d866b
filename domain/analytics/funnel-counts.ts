/** Sums of a funnel's people: totals of each step, or the people of one step. */

import { DurationCounts } from './duration-counts.ts';
import type { ChainRules, FunnelChains } from './funnel-chains.ts';

/**
 * The people who completed a step: their number, their seconds since step 0 in all, and when the last one did. Without
 * a breakdown also their times since the step before.
 */
export type StepTotal = { people: number; seconds: number; lastAt: Date | null; sincePrevious?: DurationCounts };
export type FunnelTotals = { property: string | null; steps: StepTotal[] };

export const MAX_PROPERTIES = 1_000;

/** Takes the chains of each person, by ids as Postgres has them; times are in microseconds since 2000. */
export type ChainsConsumer = {
  rules: ChainRules;
  add(person: string, property: string | null, chains: FunnelChains): void;
};

/** Postgres counts microseconds from here. */
const EPOCH_MS = Date.UTC(2000, 0);
const toDate = (micros: number) => new Date(Math.floor(micros / 1_000) + EPOCH_MS);

type StepCount = { people: number; micros: number; last: number; sincePrevious?: DurationCounts };

export class FunnelCounts implements ChainsConsumer {
  readonly rules: ChainRules;
  readonly #isDivided: boolean;
  readonly #byProperty = new Map<string | null, StepCount[]>();

  constructor(rules: ChainRules, isDivided: boolean) {
    this.rules = rules;
    this.#isDivided = isDivided;
    if (!isDivided) this.#stepsOf(null);
  }

  add(_person: string, property: string | null, { completions }: FunnelChains): void {
    if (completions[0] === null || this.#byProperty.size > MAX_PROPERTIES) return;
    const steps = this.#stepsOf(property);
    for (const [step, completion] of completions.entries()) {
      if (completion === null) continue;
      const total = steps[step]!;
      total.people += 1;
      total.micros += completion.first - completion.start;
      total.last = Math.max(total.last, completion.last);
      if (step > 0) total.sincePrevious?.add(completion.sincePrevious);
    }
  }

  #stepsOf(property: string | null): StepCount[] {
    let steps = this.#byProperty.get(property);
    if (!steps) {
      steps = Array.from({ length: this.rules.steps }, () => ({
        people: 0,
        micros: 0,
        last: -Infinity,
        ...(!this.#isDivided && { sincePrevious: new DurationCounts() }),
      }));
      this.#byProperty.set(property, steps);
    }
    return steps;
  }

  /** Returns the totals by property, most people first; null if there are too many. */
  totals(): FunnelTotals[] | null {
    if (this.#byProperty.size > MAX_PROPERTIES) return null;
    return [...this.#byProperty]
      .map(([property, steps]) => ({
        property,
        steps: steps.map(({ people, micros, last, ...times }) => ({
          people,
          seconds: micros / 1e6,
          lastAt: people === 0 ? null : toDate(last),
          ...times,
        })),
      }))
      .toSorted((a, b) => b.steps[0]!.people - a.steps[0]!.people);
  }
}

/** `dropped`: they completed the step before, and not this one. */
export type StepOutcome = { step: number; outcome: 'completed' | 'dropped' };

/** A person with an outcome, and when they last completed the step: for `dropped` the one before. */
export type PersonOfStep = { person: string; at: Date };

/** The people with an outcome whose last completion is latest, up to `limit`, and how many there are. */
export class PeopleOfStep implements ChainsConsumer {
  readonly rules: ChainRules;
  readonly #outcome: StepOutcome;
  readonly #limit: number;
  #latest: { person: string; last: number }[] = [];
  people = 0;

  constructor(rules: ChainRules, outcome: StepOutcome, limit: number) {
    this.rules = rules;
    this.#outcome = outcome;
    this.#limit = limit;
  }

  add(person: string, _property: string | null, { completions }: FunnelChains): void {
    const { step, outcome } = this.#outcome;
    const completion = outcome === 'completed' ? completions[step] : completions[step]! ? null : completions[step - 1];
    if (!completion) return;
    this.people += 1;
    this.#latest.push({ person, last: completion.last });
    if (this.#latest.length >= 2 * this.#limit) this.#keepLatest();
  }

  #keepLatest(): void {
    this.#latest = this.#latest
      .toSorted((a, b) => b.last - a.last || (a.person < b.person ? -1 : 1))
      .slice(0, this.#limit);
  }

  listed(): PersonOfStep[] {
    this.#keepLatest();
    return this.#latest.map(({ person, last }) => ({ person, at: toDate(last) }));
  }
}
