type Call<T, R> = { item: T; resolve(result: R): void; reject(error: unknown): void };

/** Bounds a round of work: calls, and their weight together; so many rounds are under way at once. */
export type RoundLimits<T> = { rounds: number; calls: number; weight: number; weigh(item: T): number };

/**
 * Does together what is asked for at the same time: calls that come while enough rounds of `work` are under way make up
 * the next one. A call alone is done at once. `work` gives a result for each item, in their order; where it fails, so do
 * all calls of the round.
 */
export function gathered<T, R>(work: (items: T[]) => Promise<R[]>, limits: RoundLimits<T>): (item: T) => Promise<R> {
  const waiting: Call<T, R>[] = [];
  let rounds = 0;
  const workOff = async () => {
    rounds += 1;
    while (waiting.length > 0) {
      const round = takeRound(waiting, limits);
      try {
        const results = await work(round.map(({ item }) => item));
        for (const [index, { resolve }] of round.entries()) resolve(results[index]!);
      } catch (error) {
        for (const { reject } of round) reject(error);
      }
    }
    rounds -= 1;
  };
  return (item) => new Promise<R>((resolve, reject) => {
    waiting.push({ item, resolve, reject });
    if (rounds < limits.rounds) void workOff();
  });
}

/** The first calls that fit, at least one. */
function takeRound<T, R>(waiting: Call<T, R>[], { calls, weight, weigh }: RoundLimits<T>): Call<T, R>[] {
  let sum = 0;
  let count = 0;
  for (const { item } of waiting.slice(0, calls)) {
    sum += weigh(item);
    if (count > 0 && sum > weight) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
