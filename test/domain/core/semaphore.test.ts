import { expect, it } from 'vitest';
import { semaphore } from '../../../domain/core/semaphore.ts';

it('gives no more turns at once than it has, and the next to whoever has waited longest', async () => {
  const turn = semaphore(2);
  const given: string[] = [];
  const take = (who: string) => turn().then((end) => {
    given.push(who);
    return end;
  });
  const [first, second] = [await take('first'), await take('second')];
  const third = take('third');
  const fourth = take('fourth');
  await Promise.resolve();
  expect(given).toEqual(['first', 'second']);
  second();
  second();         // ending a turn twice ends one turn
  const endThird = await third;
  expect(given).toEqual(['first', 'second', 'third']);
  first();
  await fourth;
  expect(given).toEqual(['first', 'second', 'third', 'fourth']);
  endThird();
  await take('fifth');
  expect(given).toHaveLength(5);
});

it('says that somebody has to wait, and only then; a turn of one who can not say so goes on', async () => {
  const turn = semaphore(1);
  const said: string[] = [];
  const end = await turn(async () => void said.push('first'));
  const second = turn(async () => void said.push('second'));
  const third = turn(() => Promise.reject(new Error('gone')));
  const fourth = turn();
  await expect(third).rejects.toThrow('gone');
  expect(said).toEqual(['second']);
  end();
  (await second)();
  (await fourth)();
});
