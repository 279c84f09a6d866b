import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CpuShare } from '../../../domain/core/cpu-share.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

/** A share whose time passes by hand. */
function shareOf(cores: number) {
  let time = 0;
  const timers: { at: number; callback: () => void }[] = [];
  const share = new CpuShare(cores, {
    now: () => time,
    later: (ms, callback) => void timers.push({ at: time + ms, callback }),
  });
  return {
    share,
    async pass(ms: number) {
      for (const until = time + ms; time < until;) {
        time += 100;
        for (const due of timers.filter(({ at }) => at <= time)) {
          timers.splice(timers.indexOf(due), 1);
          due.callback();
        }
        await new Promise(setImmediate);
      }
    },
  };
}

const kindOf = (name: string) => ({ name, countedMs: 2_000, isUrgent: name === 'funnel' });

/** Portions that were asked for, in the order in which they began. */
function begun(share: CpuShare) {
  const portions: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = async (entityId: number, kind: string, name = `${entityId} ${kind}`) => {
    void share.take(entityId, kindOf(kind)).then((end) => {
      portions.push(name);
      ends.set(name, end);
    });
    await new Promise(setImmediate);
  };
  return { portions, ask, end: (name: string) => ends.get(name)!() };
}

it('does not limit an entity that is alone', async () => {
  const { share } = shareOf(2);
  share.noteCall(1);
  const { portions, ask } = begun(share);
  for (let n = 0; n < 9; n += 1) await ask(1, 'import', String(n));
  expect(portions).toHaveLength(9);
});

it('leaves a core to an entity that calls, for a moment after its last call', async () => {
  const { share, pass } = shareOf(2);
  const { portions, ask, end } = begun(share);
  share.noteCall(2);
  await ask(1, 'import', 'first');
  await ask(1, 'import', 'second');
  expect(portions).toEqual(['first']);
  await ask(2, 'funnel');
  expect(portions).toEqual(['first', '2 funnel']);
  end('2 funnel');
  await pass(1_400);
  expect(portions).not.toContain('second');
  await pass(200);
  expect(portions).toContain('second');
});

it("begins an entity's kinds of work in turns", async () => {
  const { share } = shareOf(2);
  const { portions, ask, end } = begun(share);
  share.noteCall(2);
  for (const name of ['a', 'b', 'c']) await ask(1, 'import', name);
  await ask(1, 'send', 'message');
  await ask(1, 'gdpr', 'erasure');
  for (const name of ['a', 'message', 'erasure', 'b']) {
    end(name);
    await new Promise(setImmediate);
  }
  expect(portions).toEqual(['a', 'message', 'erasure', 'b', 'c']);
});

it('begins what a caller waits for before other kinds, in every second turn at most', async () => {
  const { share } = shareOf(2);
  const { portions, ask, end } = begun(share);
  share.noteCall(2);
  await ask(1, 'import', 'a');
  for (const name of ['b', 'c']) await ask(1, 'import', name);
  for (const name of ['first funnel', 'second funnel']) await ask(1, 'funnel', name);
  for (const name of ['a', 'first funnel', 'b', 'second funnel']) {
    end(name);
    await new Promise(setImmediate);
  }
  expect(portions).toEqual(['a', 'first funnel', 'b', 'second funnel', 'c']);
});

it("limits others by an entity's portion only as long as that counts, and ends it once", async () => {
  const { share, pass } = shareOf(2);
  const { portions, ask, end } = begun(share);
  await ask(2, 'gdpr');
  await ask(1, 'import', 'a');
  await ask(1, 'import', 'b');
  expect(portions).toEqual(['2 gdpr', 'a']);
  await pass(2_000);
  expect(portions).toEqual(['2 gdpr', 'a', 'b']);
  end('2 gdpr');
  await ask(2, 'import');
  await ask(2, 'import', 'waits');
  end('2 gdpr');
  expect(portions).not.toContain('waits');
  await pass(2_000);
  expect(portions).toContain('waits');
});

it('says that a portion waits', async () => {
  const { share } = shareOf(1);
  const { ask, end } = begun(share);
  await ask(1, 'import');
  await ask(2, 'import');
  const said: string[] = [];
  const begins = share.take(1, kindOf('send'), async () => void said.push('waits'));
  expect(said).toEqual(['waits']);
  end('1 import');
  (await begins)();
  (await share.take(3, kindOf('send'), async () => void said.push('waits')))();
  expect(said).toEqual(['waits']);
});

it('counts a portion for two seconds at most, so that what waits outside holds up nothing of its entity', async () => {
  const { share, pass } = shareOf(2);
  const { portions, ask } = begun(share);
  share.noteCall(2);
  await ask(1, 'send', 'waits for its provider');
  await ask(1, 'import');
  await ask(2, 'import');
  await pass(1_900);
  expect(portions).not.toContain('1 import');
  await pass(100);
  expect(portions).toContain('1 import');
});

it('lets a caller who is gone leave the line', async () => {
  const { share } = shareOf(1);
  const { portions, ask, end } = begun(share);
  await ask(1, 'funnel');
  await ask(2, 'funnel');
  const gone = new AbortController();
  await ask(2, 'funnel', '2 waiting');
  const left = share.take(2, kindOf('funnel'), undefined, gone.signal).catch((error: Error) => error.message);
  gone.abort(new Error('hung up'));
  expect(await left).toBe('hung up');
  end('2 funnel');
  await ask(2, 'import');
  expect(portions).toEqual(['1 funnel', '2 funnel', '2 waiting']);
  await expect(share.take(1, kindOf('funnel'), undefined, gone.signal)).rejects.toThrow('hung up');
});

it('gives no entity more than its share while others compute or wait, and begins all in the end', async () => {
  const moves = fc.array(
    fc.oneof(
      fc.record({ take: fc.integer({ min: 1, max: 4 }), kind: fc.constantFrom('import', 'send') }),
      fc.record({ end: fc.nat() }),
      fc.record({ ms: fc.integer({ min: 1, max: 5 }).map((n) => n * 100) }),
    ),
    { maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), moves, async (cores, all) => {
      const { share, pass } = shareOf(cores);
      const running: { entityId: number; end: () => void }[] = [];
      let waiting = 0;
      const runningOf = (entityId: number) => running.filter((one) => one.entityId === entityId).length;
      for (const move of all) {
        if ('take' in move) {
          const before = runningOf(move.take);
          const others = new Set(running.map(({ entityId }) => entityId)).size - (before > 0 ? 1 : 0);
          waiting += 1;
          void share.take(move.take, kindOf(move.kind)).then((end) => {
            waiting -= 1;
            running.push({ entityId: move.take, end });
          });
          await new Promise(setImmediate);
          // None of them is older than two seconds: time passes below only after all have ended.
          if (others > 0) expect(runningOf(move.take)).toBeLessThanOrEqual(Math.max(before, Math.ceil(cores / 2)));
        } else if ('end' in move && running.length > 0) {
          running.splice(move.end % running.length, 1)[0]!.end();
          await new Promise(setImmediate);
        } else if ('ms' in move && running.length === 0) {
          await pass(move.ms);
        }
      }
      while (waiting + running.length > 0) {
        for (const { end } of running.splice(0)) end();
        await pass(100);
      }
    }),
    { numRuns: sampledRuns(50) },
  );
});
