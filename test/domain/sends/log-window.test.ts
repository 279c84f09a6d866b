import fc from 'fast-check';
import { expect, it } from 'vitest';
import { logStartErrors, logWindowErrors } from '../../../domain/sends/log-window.ts';

const now = new Date('2026-11-24T12:00:00Z');
const DAYS = 30;
const ago = (ms: number) => new Date(now.getTime() - ms);
const offset = fc.integer({ min: -5, max: 5 });

it('a window ends before now and begins no later; it may be a single moment, and is named by what is wrong', () => {
  fc.assert(
    fc.property(offset, offset, (from, till) => {
      const elements = logWindowErrors({ from: ago(from), till: ago(till) }, now).map(({ element }) => element);
      expect(elements).toEqual(till <= 0 ? ['till'] : from < till ? ['from'] : []);
    }),
  );
});

it('a window begins as many days back at most, to the millisecond', () => {
  fc.assert(
    fc.property(offset, (ms) => {
      const errors = logStartErrors({ from: ago(DAYS * 86_400_000 + ms), till: ago(1) }, now, DAYS);
      expect(errors).toEqual(ms > 0 ? [{ element: 'from', message: 'must lie at most 30 days back' }] : []);
    }),
  );
});
