import { expect, test } from 'vitest';
import { turnsDuring } from '../../harness/core/wait.ts';
import { inSlices, yieldToEventLoop } from '../../../store/core/yield-to-event-loop.ts';

test('each has a turn of the event loop of its own, in their order', async () => {
  const turn = yieldToEventLoop(10);
  let looped = 0;
  let isOver = false;
  const count = () => {
    looped += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const seen: { name: string; looped: number }[] = [];
  const take = async (name: string) => {
    await turn();
    seen.push({ name, looped });
  };
  await Promise.all(['a', 'b', 'c'].map(take));
  await take('d');
  isOver = true;
  expect(seen.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  expect(new Set(seen.map((each) => each.looped)).size).toBe(seen.length);
});

test('beyond so many nobody waits', async () => {
  const turn = yieldToEventLoop(2);
  const seen: string[] = [];
  await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      await turn();
      seen.push(name);
    }),
  );
  expect(seen).toEqual(['c', 'a', 'b']);
});

test('long work goes on in slices, and does all of it', async () => {
  const done: number[] = [];
  const work = (item: number) => {
    for (const end = performance.now() + 1; performance.now() < end;) {
      /* computes */
    }
    done.push(item);
  };
  const items = Array.from({ length: 60 }, (_, item) => item);
  expect(await turnsDuring(() => inSlices(items, work))).toBeGreaterThan(5);
  expect(done).toEqual(items);
});

test('short work passes long work, which continues meanwhile', async () => {
  const compute = () => {
    for (const end = performance.now() + 3; performance.now() < end;) {
      /* computes */
    }
  };
  const ended: string[] = [];
  let longDone = 0;
  const long = Array.from({ length: 5 }, (_, nth) =>
    inSlices(Array.from({ length: 40 }), () => {
      compute();
      longDone += 1;
    }).then(() => ended.push(`long ${nth}`)),
  );
  await oneTurn();
  let duringShort = 0;
  for (let nth = 0; nth < 20; nth += 1) {
    const before = longDone;
    await inSlices(Array.from({ length: 4 }), compute);
    duringShort += longDone - before;
    ended.push('short');
  }
  // In their order, each of four slices would wait for one of each of the five.
  expect(duringShort).toBeLessThan((20 * 4 * 5) / 2);
  expect(duringShort).toBeGreaterThan(0);
  expect(ended.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 'short'));
  await Promise.all(long);
  expect(ended.length).toBe(25);
});

const oneTurn = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
