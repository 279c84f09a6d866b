/** Joins calls that come at the same time into one round of work, such as one transaction. */

type Call<T, R> = { item: T; resolve(result: R): void; reject(error: unknown): void };

/**
 * Limits of a round of calls, by number and total weight; `rounds` run at once. Items of one `subject` never run in two
 * rounds, since these would wait for each other's locks; null may run with any.
 */
export type RoundLimits<T> = {
  rounds: number;
  calls: number;
  weight: number;
  weigh(item: T): number;
  subject?: (item: T) => string | null;
};

/**
 * Batches calls that come while enough rounds run; a call alone runs at once. `work` returns results in order; if it
 * fails, all calls of its round fail.
 */
export function microBatch<T, R>(work: (items: T[]) => Promise<R[]>, limits: RoundLimits<T>): (item: T) => Promise<R> {
  const { subject = () => null } = limits;
  const waiting: Call<T, R>[] = [];
  const underWay = new Set<string | null>();
  let rounds = 0;
  const workOff = async (round: Call<T, R>[]) => {
    rounds += 1;
    const subjects = new Set(round.map(({ item }) => subject(item)).filter((of) => of !== null));
    for (const of of subjects) underWay.add(of);
    try {
      const results = await work(round.map(({ item }) => item));
      for (const [index, { resolve }] of round.entries()) resolve(results[index]!);
    } catch (error) {
      for (const { reject } of round) reject(error);
    }
    for (const of of subjects) underWay.delete(of);
    rounds -= 1;
    begin();
  };
  const begin = () => {
    while (rounds < limits.rounds) {
      const round = takeRound(waiting, limits, ({ item }) => !underWay.has(subject(item)));
      if (round.length === 0) return;
      void workOff(round);
    }
  };
  return (item) =>
    new Promise<R>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      begin();
    });
}

/** Removes the first calls that are free and fit, from the waiting ones: at least one, unless none is free. */
function takeRound<T, R>(
  waiting: Call<T, R>[],
  { calls, weight, weigh }: RoundLimits<T>,
  isFree: (call: Call<T, R>) => boolean,
): Call<T, R>[] {
  const round: Call<T, R>[] = [];
  let sum = 0;
  for (const call of waiting) {
    if (!isFree(call)) continue;
    sum += weigh(call.item);
    if (round.length === calls || (round.length > 0 && sum > weight)) break;
    round.push(call);
  }
  if (round.length > 0) {
    const taken = new Set(round);
    waiting.splice(0, waiting.length, ...waiting.filter((call) => !taken.has(call)));
  }
  return round;
}
