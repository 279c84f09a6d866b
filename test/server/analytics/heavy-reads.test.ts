import { expect, it } from 'vitest';
import { BOUNDS } from '../../../domain/core/limits.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { openCpuShare } from '../../../runtime/app-context.ts';
import { HeavyReads } from '../../../server/analytics/heavy-reads.ts';

const {
  maxWaitingOfMember: MAX_WAITING_OF_ONE,
  maxWaitingEach: MAX_WAITING,
  maxWaiting: MAX_WAITING_IN_ALL,
} = BOUNDS.heavyReads;
const AWAITED = new AbortController().signal;

/** Reads that run until their signal aborts or a test ends them. */
function blockedReads() {
  const reads = new HeavyReads(openCpuShare());
  const running: { entityId: number; userId: number; end(): void }[] = [];
  const ask = (entityId: number, { userId = 1, hungUp = AWAITED } = {}): Promise<string | number> =>
    reads
      .within(
        { entityId, userId, serviceTokenId: null },
        hungUp,
        (signal) =>
          new Promise<string>((resolve, reject) => {
            running.push({ entityId, userId, end: () => resolve('read') });
            signal.addEventListener('abort', () => reject(new Error('the session ended')));
          }),
      )
      .catch((error: unknown) => {
        if (error instanceof Refusal) return error.http;
        throw error;
      });
  return { reads, running, ask };
}

const settle = () => new Promise(setImmediate);

it('leaves a place to another entity however many reads an entity asks for', async () => {
  const { running, ask } = blockedReads();
  for (let nth = 0; nth <= MAX_WAITING; nth += 1) {
    void ask(1, { userId: nth });
    await settle();
  }
  const other = ask(2);
  await settle();
  expect(running.map(({ entityId }) => entityId)).toEqual([1, 2]);
  running[1]!.end();
  expect(await other).toBe('read');
  expect(await ask(1)).toBe(429);
});

it('shares the turns of an entity out between its callers, and bounds how many of one wait', async () => {
  const { running, ask } = blockedReads();
  const asked = Array.from({ length: 2 + MAX_WAITING_OF_ONE }, () => ask(1, { userId: 1 }));
  expect(await asked.at(-1)).toBe(429);
  void ask(1, { userId: 2 });
  await settle();
  for (const next of [2, 1]) {
    running.at(-1)!.end();
    await settle();
    await settle();
    expect(running.at(-1)!.userId).toBe(next);
  }
});

it('takes callers who hang up out of the line, and ends the read of one that runs', async () => {
  const { running, ask } = blockedReads();
  const hangingUp = new AbortController();
  const gone = [ask(1, { hungUp: hangingUp.signal }), ask(1, { hungUp: hangingUp.signal })];
  const stays = ask(1);
  await settle();
  expect(running).toHaveLength(1);
  hangingUp.abort();
  expect(await Promise.all(gone)).toEqual([499, 499]);
  await settle();
  expect(running).toHaveLength(2); // of the one that stays alone
  running[1]!.end();
  expect(await stays).toBe('read');
});

it('bounds how many wait in all, and lets the newest of the entity with most give way', async () => {
  const { ask } = blockedReads();
  const entities = MAX_WAITING_IN_ALL / MAX_WAITING;
  const answers: (string | number | null)[] = [];
  for (let entityId = 1; entityId <= entities + 1; entityId += 1) {
    for (let nth = 0; nth <= MAX_WAITING; nth += 1) {
      const at = answers.push(null) - 1;
      void ask(entityId, { userId: nth }).then((answer) => {
        answers[at] = answer;
      });
      await settle();
    }
  }
  await settle();
  const refused = answers.flatMap((answer, at) => (answer === 429 ? [Math.floor(at / (MAX_WAITING + 1))] : []));
  const running = 2;
  expect(refused).toHaveLength(answers.length - MAX_WAITING_IN_ALL - running);
  const waitsFor = Array.from(
    { length: entities + 1 },
    (_, entity) => MAX_WAITING + 1 - refused.filter((one) => one === entity).length - (entity < running ? 1 : 0),
  );
  expect(Math.max(...waitsFor) - Math.min(...waitsFor)).toBeLessThanOrEqual(1);
});

it('ends those that run and those that wait when the server ends', async () => {
  const { reads, ask } = blockedReads();
  const asked = [ask(1), ask(1), ask(2), ask(3)];
  await settle();
  reads.close();
  expect(await Promise.all([...asked, ask(4)])).toEqual([503, 503, 503, 503, 503]);
});
