import fc from 'fast-check';
import { expect, it } from 'vitest';
import { semaphore, SharedBudget, TooManyWait } from '../../../domain/core/semaphore.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

it('gives no more turns at once than it has, and the next to whoever has waited longest', async () => {
  const turn = semaphore(2);
  const given: string[] = [];
  const take = (who: string) =>
    turn(1).then((end) => {
      given.push(who);
      return end;
    });
  const [first, second] = [await take('first'), await take('second')];
  const third = take('third');
  const fourth = take('fourth');
  await Promise.resolve();
  expect(given).toEqual(['first', 'second']);
  second();
  second(); // ending a turn twice ends one turn
  const endThird = await third;
  expect(given).toEqual(['first', 'second', 'third']);
  first();
  await fourth;
  expect(given).toEqual(['first', 'second', 'third', 'fourth']);
  endThird();
  await take('fifth');
  expect(given).toHaveLength(5);
});

it('gives an entity that comes later its turn before all that others have in line', async () => {
  const turn = semaphore(1);
  const given: number[] = [];
  const take = (entityId: number) =>
    turn(entityId).then((end) => {
      given.push(entityId);
      return end;
    });
  const crowd = [take(1), ...Array.from({ length: 20 }, () => take(1))];
  const single = [take(2), take(3)];
  (await crowd[0]!)();
  (await single[0]!)();
  (await single[1]!)();
  (await crowd[1]!)();
  await crowd[2]!;
  expect(given).toEqual([1, 2, 3, 1, 1]);
});

it('never gives an entity more than its share of the turns that begin, and leaves none free that may be given', async () => {
  const coming = fc.array(fc.oneof(fc.record({ take: fc.integer({ min: 1, max: 4 }) }), fc.record({ end: fc.nat() })), {
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), coming, async (atOnce, moves) => {
      const turn = semaphore(atOnce);
      const held: { entityId: number; end: () => void }[] = [];
      const waiting: number[] = [];
      const heldBy = (entityId: number) => held.filter((one) => one.entityId === entityId).length;
      const share = () => Math.ceil(atOnce / new Set([...waiting, ...held.map(({ entityId }) => entityId)]).size);
      for (const move of moves) {
        if ('take' in move) {
          const entityId = move.take;
          waiting.push(entityId);
          void turn(entityId).then((end) => {
            expect(heldBy(entityId)).toBeLessThan(share());
            waiting.splice(waiting.indexOf(entityId), 1);
            held.push({ entityId, end });
          });
        } else if (held.length > 0) held.splice(move.end % held.length, 1)[0]!.end();
        await new Promise(setImmediate);
        expect(held.length).toBeLessThanOrEqual(atOnce);
        const mayBegin = waiting.some((entityId) => heldBy(entityId) < share());
        if (held.length < atOnce) expect(mayBegin).toBe(false);
      }
    }),
    { numRuns: sampledRuns(1_000) },
  );
});

it('says that somebody has to wait, and only then; a turn of one who can not say so goes on', async () => {
  const turn = semaphore(1);
  const said: string[] = [];
  const end = await turn(1, async () => void said.push('first'));
  const second = turn(1, async () => void said.push('second'));
  const third = turn(1, () => Promise.reject(new Error('gone')));
  const fourth = turn(1);
  await expect(third).rejects.toThrow('gone');
  expect(said).toEqual(['second']);
  end();
  (await second)();
  (await fourth)();
});

it('lets a caller leave the line, and gives its turn to the next', async () => {
  const turn = semaphore(2, { maxEach: 1 });
  const end = await turn(1);
  const leaving = new AbortController();
  const left = turn(1, undefined, leaving.signal);
  const next = turn(1);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await expect(turn(1, undefined, leaving.signal)).rejects.toThrow('left');
  (await turn(2))();
  end();
  (await next)();
});

it('refuses callers beyond those who may wait, and leaves the places in line to entities that hold fewer', async () => {
  const turn = semaphore(1, { maxWaitingEach: 3, maxWaiting: 4 });
  const answers: string[] = [];
  const ask = async (entityId: number, name: string) => {
    void turn(entityId).then(
      (end) => {
        answers.push(`${name} begins`);
        end();
      },
      (error: unknown) => answers.push(error instanceof TooManyWait ? `${name} refused` : String(error)),
    );
    await new Promise(setImmediate);
  };
  const end = await turn(1);
  for (const name of ['1a', '1b', '1c', '1d']) await ask(1, name);
  expect(answers).toEqual(['1d refused']); // three of one entity
  await ask(2, '2a');
  await ask(2, '2b'); // 1c gives way
  expect(answers.splice(0)).toEqual(['1d refused', '1c refused']);
  await ask(2, '2c');
  await ask(3, '3a');
  expect(answers.splice(0)).toEqual(['2c refused', '1b refused']);
  await ask(4, '4a');
  await ask(5, '5a');
  expect(answers.splice(0)).toEqual(['2b refused', '5a refused']);
  end();
  await new Promise(setImmediate);
  expect(answers.toSorted()).toEqual(['1a begins', '2a begins', '3a begins', '4a begins']);
});

const MOST = 1_000;

it('a budget leaves as much free as any entity holds, whatever comes and goes, and lets each that holds nothing in', () => {
  const step = fc.record({
    entityId: fc.integer({ min: 1, max: 5 }),
    amount: fc.integer({ min: 1, max: 100 }),
    isTaken: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const budget = new SharedBudget(MOST);
      const held = new Map<number, number[]>();
      const sum = (amounts: Iterable<number>) => [...amounts].reduce((total, amount) => total + amount, 0);
      for (const { entityId, amount, isTaken } of steps) {
        const own = held.get(entityId) ?? [];
        held.set(entityId, own);
        if (!isTaken) {
          const back = own.pop();
          if (back !== undefined) budget.giveBack(entityId, back);
          continue;
        }
        const isFirst = own.length === 0;
        const may = isFirst || amount <= budget.left(entityId);
        expect(budget.take(entityId, amount)).toBe(may);
        if (may) own.push(amount);
        const free = MOST - sum(Array.from(held.values(), sum));
        if (may && !isFirst) expect(sum(own)).toBeLessThanOrEqual(free);
      }
    }),
  );
});

it('a budget gives one entity alone half, and another its share beside it', () => {
  const budget = new SharedBudget(MOST);
  const fill = (entityId: number) => {
    let held = 0;
    while (budget.take(entityId, 1)) held += 1;
    return held;
  };
  expect(fill(1)).toBe(MOST / 2);
  budget.giveBack(1, 200);
  expect(fill(2)).toBe(350);
  expect(fill(1)).toBe(25);
});
