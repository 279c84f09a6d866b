import fc from 'fast-check';
import { expect, it } from 'vitest';
import { waitBeforeRetry } from '../../../domain/jobs/patience.ts';

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
