import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PLANNED_WAIT } from '../../../domain/core/refusal.ts';
import { nextTry, waitBeforeRetry } from '../../../domain/jobs/patience.ts';

const HOUR_MS = 3_600_000;

type Answer = { askedS: number | null; tookMs: number };

const answers = fc.array(
  fc.record({
    askedS: fc.option(fc.oneof(fc.constantFrom(0, 1, 2), fc.nat(200_000))),
    tookMs: fc.nat(120_000),
  }),
  { minLength: 1, maxLength: 400 },
);

/** The waits for a system that answers so, in turn and over again, until the work has failed. */
function waitsFor(given: Answer[], patienceMs: number) {
  const waits: { waitMs: number; askedS: number | null; failingForMs: number }[] = [];
  let failingForMs = 0;
  for (let tries = 1; ; tries += 1) {
    const { askedS, tookMs } = given[(tries - 1) % given.length]!;
    const refusal = { status: 'source_unavailable', extra: askedS === null ? {} : { retry_after: askedS } };
    const waitMs = waitBeforeRetry(refusal, { tries, failingForMs, patienceMs });
    if (waitMs === null) return { waits, failingForMs };
    waits.push({ waitMs, askedS, failingForMs });
    failingForMs += waitMs + tookMs;
  }
}

it('a system that is away is waited for as long as was promised, whatever it asks for, by few tries', () => {
  fc.assert(
    fc.property(answers, fc.integer({ min: 60_000, max: 24 * HOUR_MS }), (given, patienceMs) => {
      const { waits, failingForMs } = waitsFor(given, patienceMs);
      expect(failingForMs).toBeGreaterThanOrEqual(patienceMs);
      expect(waits.at(-1)!.failingForMs).toBeLessThan(patienceMs);
      expect(waits.length).toBeLessThanOrEqual(10 + patienceMs / 300_000);
      for (const { waitMs, askedS } of waits) {
        const askedMs = Math.min(askedS ?? 0, 86_400) * 1_000;
        expect(waitMs).toBeGreaterThanOrEqual(Math.max(1_000, askedMs));
        expect(waitMs).toBeLessThanOrEqual(Math.max(300_000, askedMs));
      }
    }),
  );
});

it('the last try comes when the patience ends', () => {
  const away = [{ askedS: null, tookMs: 0 }];
  expect(waitsFor(away, HOUR_MS).failingForMs).toBe(HOUR_MS);
  expect(waitsFor(away, 10_000).waits.map(({ waitMs }) => waitMs)).toEqual([1_000, 2_000, 4_000, 3_000]);
});

it('an error that somebody has to mend is not waited for, but by those who say how often they try', () => {
  const refusal = { status: 'source_refused', extra: {} };
  const trouble = { failingForMs: 0, patienceMs: HOUR_MS };
  expect(waitBeforeRetry(refusal, { ...trouble, tries: 1 })).toBeNull();
  expect([1, 2, 3].map((tries) => waitBeforeRetry(refusal, { ...trouble, tries, finalTries: 3 }))).toEqual([
    1_000,
    2_000,
    null,
  ]);
});

describe('the next try', () => {
  const now = new Date('2026-11-27T10:00:00Z');
  const minutes = (n: number) => new Date(now.getTime() + n * 60_000);
  const planned = (seconds: number) => ({
    status: 'source_unavailable',
    extra: { retry_after: seconds, [PLANNED_WAIT]: true as const },
  });
  const none = { tries: 0, failingSince: null };
  const limits = { now, patienceMs: HOUR_MS };

  it.each([
    ['a first failure counts, from now', { status: 'source_unavailable', extra: {} }, none, [1, minutes(0), 1]],
    ['a planned wait is none', planned(1_800), none, [0, null, 1_800]],
    ['a planned wait may be longer than the patience', planned(36_000), none, [0, null, 36_000]],
    ['a planned wait is at most a day', planned(200_000), none, [0, null, 86_400]],
    ['a planned wait is at least a second', planned(0), none, [0, null, 1]],
    [
      'a planned wait takes none of the patience with earlier failures',
      planned(7_200),
      { tries: 7, failingSince: minutes(-59) },
      [7, minutes(61), 7_200],
    ],
    [
      'a planned wait follows also if the patience is over',
      planned(60),
      { tries: 30, failingSince: minutes(-61) },
      [30, minutes(-60), 60],
    ],
  ] as const)('%s', (_, refusal, before, [tries, failingSince, waitS]) => {
    expect(nextTry(refusal, before, limits)).toEqual({
      tries,
      failingSince,
      waitMs: waitS * 1_000,
      waitsUntil: new Date(now.getTime() + waitS * 1_000),
    });
  });

  it('is none once a failure has lasted as long as was promised', () => {
    const failing = { tries: 5, failingSince: minutes(-60) };
    expect(nextTry({ status: 'source_unavailable', extra: {} }, failing, limits)).toBeNull();
  });
});
