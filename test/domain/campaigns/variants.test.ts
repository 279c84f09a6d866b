import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { variantOf } from '../../../domain/campaigns/variants.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const PEOPLE = Array.from({ length: 20_000 }, (_, index) => `user-${index}@example.com`);

/** 2 to 10 shares that add up to 100. */
const shares = fc.uniqueArray(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 9 }).map((cuts) => {
  const ends = [...cuts.toSorted((one, other) => one - other), 100];
  return ends.map((end, index) => end - (ends[index - 1] ?? 0));
});
const campaigns = fc.stringMatching(/^cmp_[A-Za-z0-9]{20}$/);

describe('the people of a campaign', () => {
  it('spread over its variants by their shares, to a percent and a half', () => {
    fc.assert(
      fc.property(shares, campaigns, (drawn, campaign) => {
        const variants = drawn.map((share) => ({ share, people: 0 }));
        for (const person of PEOPLE) variantOf(variants, campaign, person)!.people += 1;
        for (const { share, people } of variants)
          expect(Math.abs((100 * people) / PEOPLE.length - share)).toBeLessThan(1.5);
      }),
      { numRuns: sampledRuns(30) },
    );
  });

  it('get the same variant whenever it is asked, and in each campaign by another lot', () => {
    fc.assert(
      fc.property(shares, campaigns, fc.string(), (drawn, campaign, person) => {
        const variants = drawn.map((share, index) => ({ share, name: `${index}` }));
        expect(variantOf(structuredClone(variants), campaign, person)).toEqual(variantOf(variants, campaign, person));
      }),
    );
    const halves = [
      { share: 50, name: 'A' },
      { share: 50, name: 'B' },
    ];
    const both = PEOPLE.filter(
      (person) => variantOf(halves, 'cmp_1', person)!.name === variantOf(halves, 'cmp_2', person)!.name,
    );
    expect(Math.abs(both.length / PEOPLE.length - 0.5)).toBeLessThan(0.02);
    // It stays so in later versions, since some of the people may have it already.
    expect(
      PEOPLE.slice(0, 12)
        .map((person) => variantOf(halves, 'cmp_1', person)!.name)
        .join(''),
    ).toBe('AABBBBBABABB');
  });

  it('get none where there are none', () => {
    expect(variantOf(null, 'cmp_1', 'user-1')).toBeNull();
  });
});
