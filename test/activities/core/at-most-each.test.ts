import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { atMostEach } from '../../../activities/core/at-most-each.ts';

const EVERY_MS = 3_600_000;
const work = vi.fn<() => Promise<void>>(async () => {});

beforeEach(() => {
  work.mockReset();
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('work is done at once, and then no more before its time', async () => {
  const doWork = atMostEach(EVERY_MS, work);
  for (const [passedMs, times] of [
    [0, 1],
    [0, 1],
    [EVERY_MS - 1, 1],
    [1, 2],
    [EVERY_MS - 1, 2],
  ] as const) {
    vi.advanceTimersByTime(passedMs);
    await doWork();
    expect(work).toHaveBeenCalledTimes(times);
  }
});

it('work that failed is tried again at once', async () => {
  work.mockRejectedValueOnce(new Error('the file store is away'));
  const doWork = atMostEach(EVERY_MS, work);
  await expect(doWork()).rejects.toThrow('the file store is away');
  await doWork();
  await doWork();
  expect(work).toHaveBeenCalledTimes(2);
});

it('work that was just done waits for its time', async () => {
  const doWork = atMostEach(EVERY_MS, work, performance.now());
  await doWork();
  expect(work).not.toHaveBeenCalled();
});
