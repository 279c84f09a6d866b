export async function timed<T>(work: () => Promise<T>): Promise<[seconds: number, result: T]> {
  const start = performance.now();
  const result = await work();
  return [(performance.now() - start) / 1_000, result];
}

/** Returns the median seconds of each, in turns, after warm-up runs. */
export async function medians(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
  { runs, warmUps }: { runs: number; warmUps: number },
): Promise<[one: number, other: number]> {
  const seconds: [number[], number[]] = [[], []];
  for (let run = 0; run < warmUps + runs; run += 1) {
    for (const [side, work] of [one, other].entries()) {
      const [took] = await timed(work);
      if (run >= warmUps) seconds[side]!.push(took);
    }
  }
  const middle = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(runs / 2)]!;
  return [middle(seconds[0]), middle(seconds[1])];
}
