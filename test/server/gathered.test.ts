import { expect, it } from 'vitest';
import { gathered } from '../../server/gathered.ts';

const limits = { rounds: 1, calls: 3, weight: 100, weigh: (item: number) => item };

it('what is asked for while a round is under way is done by the next ones, within their bounds', async () => {
  const rounds: number[][] = [];
  const double = gathered(async (items: number[]) => {
    rounds.push(items);
    return items.map((item) => item * 2);
  }, limits);
  expect(await Promise.all([1, 2, 3, 4, 5, 90, 20, 500, 6].map(double))).toEqual([2, 4, 6, 8, 10, 180, 40, 1000, 12]);
  expect(rounds).toEqual([[1], [2, 3, 4], [5, 90], [20], [500], [6]]);
});

it('a round that fails fails its own calls, and the next one is done', async () => {
  const half = gathered(async (items: number[]) => {
    if (items.includes(2)) throw new Error('two');
    return items.map((item) => item / 2);
  }, limits);
  const settled = await Promise.allSettled([4, 2, 6, 8, 10].map(half));
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled']);
});
