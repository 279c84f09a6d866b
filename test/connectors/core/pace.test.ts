import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CallWindow, inOrder, keepToShare, quotaWait } from '../../../connectors/core/pace.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { refusalBody } from '../../../server/http/refusal-reply.ts';

const never = new AbortController().signal;

describe('a window of calls', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  /** Asks for turns `callers` times, and notes who begins and when. */
  function callers(
    window: CallWindow,
    names: readonly number[],
    signalOf: (name: number) => AbortSignal = () => never,
  ) {
    const begun: { name: number; atMs: number }[] = [];
    const turns = names.map((name) =>
      window.turn(signalOf(name)).then(() => begun.push({ name, atMs: performance.now() })),
    );
    return { begun, turns };
  }

  it('never lets more calls begin than it says in any window, and lets them begin in order', async () => {
    const window = new CallWindow({ calls: 5, windowMs: 1_000 });
    const early = callers(window, [0, 1, 2]);
    await vi.advanceTimersByTimeAsync(700);
    const late = callers(window, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    await vi.advanceTimersByTimeAsync(5_000);
    const begun = [...early.begun, ...late.begun];
    expect(begun.map(({ name }) => name)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    for (const { atMs } of begun) {
      const within = begun.filter((other) => other.atMs >= atMs && other.atMs < atMs + 1_000);
      expect(within.length).toBeLessThanOrEqual(5);
    }
    const since = begun[0]!.atMs;
    expect(begun.map(({ atMs }) => atMs - since)).toEqual([
      0, 0, 0, 700, 700, 1_000, 1_000, 1_000, 1_700, 1_700, 2_000, 2_000, 2_000,
    ]);
  });

  it('takes another limit, for which calls that have begun count', async () => {
    const window = new CallWindow({ calls: 5, windowMs: 1_000 });
    const { begun } = callers(window, [0, 1, 2, 3, 4, 5, 6, 7]);
    await vi.advanceTimersByTimeAsync(100);
    expect(begun).toHaveLength(5);
    window.setLimit({ calls: 6, windowMs: 1_000 });
    expect((await vi.advanceTimersByTimeAsync(100), begun)).toHaveLength(6);
    window.setLimit({ calls: 1, windowMs: 1_000 });
    await vi.advanceTimersByTimeAsync(1_050);
    expect(begun).toHaveLength(7);
  });

  it('counts calls that have begun, however its limit changes meanwhile', async () => {
    const window = new CallWindow({ calls: 4, windowMs: 1_000 });
    const { begun } = callers(window, [0, 1, 2, 3, 4, 5]);
    for (const calls of [1, 4, 1, 4]) window.setLimit({ calls, windowMs: 1_000 });
    await vi.advanceTimersByTimeAsync(900);
    expect(begun).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(200);
    expect(begun).toHaveLength(6);
  });

  it('gives the turn of a caller that has left to the next one', async () => {
    const window = new CallWindow({ calls: 1, windowMs: 1_000 });
    const leaving = new AbortController();
    const { begun, turns } = callers(window, [0, 1, 2], (name) => (name === 1 ? leaving.signal : never));
    await vi.advanceTimersByTimeAsync(400);
    leaving.abort(new Error('left'));
    await expect(turns[1]).rejects.toThrow('left');
    await expect(window.turn(leaving.signal)).rejects.toThrow('left');
    await vi.advanceTimersByTimeAsync(600);
    expect(begun.map(({ name }) => name)).toEqual([0, 2]);
  });
});

describe('work in order', () => {
  /** Work whose items end as the test says. */
  function work() {
    const begun = new Map<number, PromiseWithResolvers<string> & { signal: AbortSignal }>();
    return {
      begun,
      /** Ends with an item's result, or with the abort. */
      async of(item: number, signal: AbortSignal): Promise<string> {
        const ending = Promise.withResolvers<string>();
        begun.set(item, { ...ending, signal });
        signal.addEventListener('abort', () => ending.reject(new Error('aborted')));
        return ending.promise;
      },
      numbers: () => [...begun.keys()],
    };
  }

  it('yields results in the order of the items, with as many in flight as it says and no more', async () => {
    const { begun, of, numbers } = work();
    const results = inOrder([1, 2, 3, 4, 5], 3, of, never);
    const first = results.next();
    expect(numbers()).toEqual([1, 2, 3]);
    begun.get(3)!.resolve('c');
    begun.get(2)!.resolve('b');
    begun.get(1)!.resolve('a');
    expect(await first).toEqual({ value: 'a', done: false });
    expect(numbers()).toEqual([1, 2, 3, 4]);
    expect(await results.next()).toEqual({ value: 'b', done: false });
    expect(numbers()).toEqual([1, 2, 3, 4, 5]);
    begun.get(4)!.resolve('d');
    begun.get(5)!.resolve('e');
    const rest: string[] = [];
    for await (const result of results) rest.push(result);
    expect(rest).toEqual(['c', 'd', 'e']);
  });

  it('yields what was done before an error, begins no more, and ends the rest', async () => {
    const { begun, of, numbers } = work();
    const results = inOrder([1, 2, 3, 4, 5, 6], 4, of, never);
    const first = results.next();
    begun.get(3)!.reject(new Error('no'));
    await begun.get(3)!.promise.catch(() => undefined);
    begun.get(1)!.resolve('a');
    expect(await first).toEqual({ value: 'a', done: false });
    const second = results.next();
    expect(begun.get(4)!.signal.aborted).toBe(false);
    begun.get(2)!.resolve('b');
    expect(await second).toEqual({ value: 'b', done: false });
    await expect(results.next()).rejects.toThrow('no');
    expect(begun.get(4)!.signal.aborted).toBe(true);
    expect(numbers()).toEqual([1, 2, 3, 4]);
  });

  it('ends what is in flight when the reader stops, or its own signal ends', async () => {
    for (const isReader of [true, false]) {
      const { begun, of } = work();
      const ending = new AbortController();
      const results = inOrder([1, 2, 3], 2, of, ending.signal);
      const first = results.next();
      begun.get(1)!.resolve('a');
      await first;
      if (isReader) await results.return(undefined);
      else ending.abort();
      expect([2, 3].map((item) => begun.get(item)!.signal.aborted)).toEqual([true, true]);
      if (!isReader) await expect(results.next()).rejects.toThrow('aborted');
    }
  });
});

describe('a quota', () => {
  beforeEach(() => vi.useFakeTimers({ now: new Date('2026-11-27T10:00:00Z') }));
  afterEach(() => vi.useRealTimers());

  const resetsAtMs = Date.parse('2026-11-28T05:00:00Z');
  const refusalOf = (call: () => void): Refusal => {
    try {
      call();
    } catch (error) {
      if (error instanceof Refusal) return error;
    }
    throw new Error('It did not refuse');
  };

  it('may be used up to the share, and past it says how much is used and until when a run waits', () => {
    keepToShare('api.example.com', { used: 8_000, limit: 10_000, resetsAtMs }, 80);
    const { status, message, extra } = refusalOf(() =>
      keepToShare('api.example.com', { used: 8_001, limit: 10_000, resetsAtMs }, 80),
    );
    expect({ status, extra }).toMatchObject({ status: 'source_unavailable', extra: { retry_after: 19 * 3_600 } });
    expect(message).toBe(
      'api.example.com has counted 8001 of the 10000 calls of its quota, and syncs may use 80 % of them: ' +
        'waiting for new ones, next try at 2026-11-28T05:00:00.000Z',
    );
  });

  it('whose end has passed is asked for again after a minute, not at once', () => {
    expect(quotaWait('none left', Date.now() - 5_000).extra.retry_after).toBe(60);
  });

  it('shows in an answer of the API as any source that is not available', () => {
    expect(JSON.parse(JSON.stringify(refusalBody(quotaWait('none left', Date.now() + 1_500))))).toEqual({
      success: false,
      status: 'source_unavailable',
      error_message: 'none left',
      message: 'none left',
      retry_after: 2,
    });
  });
});
