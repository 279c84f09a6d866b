import { expect, it } from 'vitest';
import { sampleError, shareInterval } from '../../../domain/analytics/sample-error.ts';

/** Probability that `count` of `people` are in a sample of one in `oneIn`, for each count that is not too rare. */
function* chances(people: number, oneIn: number): Generator<[count: number, chance: number]> {
  const share = 1 / oneIn;
  let log = people * Math.log1p(-share);
  for (let count = 0; count <= people; count += 1) {
    yield [count, Math.exp(log)];
    if (count > people * share && log < -40) return;
    log += Math.log(((people - count) / (count + 1)) * (share / (1 - share)));
  }
}

it.for([16, 32, 512])('an estimate from one person in %i is within its error in 95 % of samples', (oneIn) => {
  for (const people of [1, 3, 5, 10, 48, 49, 80, 150, 418, 1_000, 3_000].map(
    (sixteenths) => (sixteenths * oneIn) / 16,
  )) {
    let within = 0;
    for (const [count, chance] of chances(Math.round(people), oneIn))
      if (Math.abs(count * oneIn - people) <= sampleError(count, oneIn)) within += chance;
    expect([people, within]).toEqual([people, expect.toSatisfy((share: number) => share >= 0.95)]);
  }
});

it('no share of few people is certain', () => {
  const { middle, half } = shareInterval(0, 10);
  expect(middle - half).toBeCloseTo(0);
  expect(middle + half).toBeCloseTo(0.278, 3);
});
