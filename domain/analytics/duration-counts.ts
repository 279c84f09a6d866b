/** Counts of durations, in bounded memory: their quantiles, and a histogram on a log axis. */

/** A bar of a histogram: people who took `from` seconds or more, and less than `until`. */
export type DurationBar = { from: number; until: number; people: number };

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** Bounds of the bars in seconds: about twice as long each, and round. The last is the longest `max_duration`. */
const DURATION_BOUNDS: readonly number[] = [
  0,
  1,
  2,
  5,
  10,
  20,
  30,
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 4, 8, 16].map((hours) => hours * HOUR),
  ...[1, 2, 4, 7, 14, 30, 60, 120, 367].map((days) => days * DAY),
];

/** A bucket's bounds differ by 2 %, so its mean is as near to each of its durations. */
const BUCKET_GROWTH = Math.log(1.02);
const MICROS = 1e6;

export class DurationCounts {
  readonly #buckets = new Map<number, { people: number; micros: number }>();
  readonly #bars = DURATION_BOUNDS.slice(1).map(() => 0);
  #people = 0;

  add(micros: number): void {
    const number = micros < 1 ? -1 : Math.floor(Math.log(micros) / BUCKET_GROWTH);
    const bucket = this.#buckets.get(number);
    if (bucket) {
      bucket.people += 1;
      bucket.micros += micros;
    } else this.#buckets.set(number, { people: 1, micros });
    let bar = 0;
    while (bar < this.#bars.length - 1 && micros >= DURATION_BOUNDS[bar + 1]! * MICROS) bar += 1;
    this.#bars[bar]! += 1;
    this.#people += 1;
  }

  /** Returns the seconds within which this share of people was through, to 2 %; null without people. */
  quantile(share: number): number | null {
    if (this.#people === 0) return null;
    let left = Math.ceil(share * this.#people);
    for (const [, { people, micros }] of [...this.#buckets].toSorted(([a], [b]) => a - b)) {
      left -= people;
      if (left <= 0) return micros / people / MICROS;
    }
    return null;
  }

  /** Returns the bars from the first to the last one with people. */
  histogram(): DurationBar[] {
    const bars = this.#bars.map((people, nth) => ({
      from: DURATION_BOUNDS[nth]!,
      until: DURATION_BOUNDS[nth + 1]!,
      people,
    }));
    const isFilled = ({ people }: DurationBar) => people > 0;
    return bars.slice(bars.findIndex(isFilled), bars.findLastIndex(isFilled) + 1);
  }
}
