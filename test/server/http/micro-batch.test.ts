import { expect, it } from 'vitest';
import { microBatch } from '../../../server/http/micro-batch.ts';
import { waitFor } from '../../harness/core/wait.ts';

const limits = { rounds: 1, calls: 3, weight: 100, weigh: (item: number) => item };

it('what is asked for while a round is under way is done by the next ones, within their bounds', async () => {
  const rounds: number[][] = [];
  const double = microBatch(async (items: number[]) => {
    rounds.push(items);
    return items.map((item) => item * 2);
  }, limits);
  expect(await Promise.all([1, 2, 3, 4, 5, 90, 20, 500, 6].map(double))).toEqual([2, 4, 6, 8, 10, 180, 40, 1000, 12]);
  expect(rounds).toEqual([[1], [2, 3, 4], [5, 90], [20], [500], [6]]);
});

it('a round that fails fails its own calls, and the next one is done', async () => {
  const half = microBatch(async (items: number[]) => {
    if (items.includes(2)) throw new Error('two');
    return items.map((item) => item / 2);
  }, limits);
  const settled = await Promise.allSettled([4, 2, 6, 8, 10].map(half));
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled']);
});

it('what is of one subject is never in two rounds at once, and the rest does not wait for it', async () => {
  const open: { items: string[]; end(): void }[] = [];
  const done: string[] = [];
  const work = microBatch(
    async (items: string[]) => {
      await new Promise<void>((resolve) => {
        open.push({ items, end: resolve });
      });
      return items;
    },
    { rounds: 2, calls: 2, weight: 100, weigh: () => 1, subject: (item: string) => item[0] ?? null },
  );
  const all = Promise.all(['a1', 'a2', 'a3', 'b1', 'a4'].map(async (item) => done.push(await work(item))));
  expect(open.map(({ items }) => items)).toEqual([['a1'], ['b1']]);
  open[1]!.end();
  await waitFor('the end of a round', async () => done.includes('b1'));
  expect(open).toHaveLength(2);
  open[0]!.end();
  await waitFor('the next round', async () => open.length === 3);
  expect(open[2]!.items).toEqual(['a2', 'a3']);
  open[2]!.end();
  await waitFor('the last round', async () => open.length === 4);
  expect(open[3]!.items).toEqual(['a4']);
  open[3]!.end();
  await all;
});
