import { expect, test } from 'vitest';
import { turns } from '../../../server/http/turns.ts';

test('each has a turn of the event loop of its own, in their order', async () => {
  const turn = turns(10);
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
  const turn = turns(2);
  const seen: string[] = [];
  await Promise.all(['a', 'b', 'c'].map(async (name) => {
    await turn();
    seen.push(name);
  }));
  expect(seen).toEqual(['c', 'a', 'b']);
});
