import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomFor, sampled } from '../harness/run/seed.ts';

const matrix = Array.from({ length: 400 }, (_, index) => ({
  index,
  route: `route ${index % 20}`,
  kind: `kind ${index % 7}`,
}));
const groupsOf = ({ route, kind }: (typeof matrix)[number]) => [route, kind];
const drawn = (seed: number, all = matrix, share = 1 / 4) =>
  sampled('a matrix', all, share, groupsOf, { seed, triesAll: false });

describe('what a run tries', () => {
  test('is a quarter, in its order, with at least one of each group, whatever the seed', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), fc.nat(400), (seed, length) => {
        const all = matrix.slice(0, length);
        const some = drawn(seed, all);
        expect(some).toEqual(all.filter((item) => some.includes(item)));
        expect(new Set(some.flatMap(groupsOf))).toEqual(new Set(all.flatMap(groupsOf)));
        expect(some.length).toBeGreaterThanOrEqual(Math.round(length / 4));
        expect(some.length).toBeLessThanOrEqual(Math.round(length / 4) + 27);
      }),
    );
  });

  test('is one at least, also of few', () => {
    expect(sampled('few', ['only'], 1 / 4, undefined, { seed: 1, triesAll: false })).toEqual(['only']);
    expect(sampled('few', ['a', 'b', 'c'], 0, undefined, { seed: 1, triesAll: false })).toHaveLength(1);
  });

  test('is the same for the same seed, and over some seeds everything', () => {
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(8)).not.toEqual(drawn(7));
    const tried = new Set(Array.from({ length: 60 }, (_, seed) => drawn(seed)).flat());
    expect(tried.size).toBe(matrix.length);
  });

  test('is everything where a run tries everything', () => {
    expect(sampled('a matrix', matrix, 1 / 4, groupsOf, { seed: 1, triesAll: true })).toEqual(matrix);
  });

  test('differs by its purpose', () => {
    expect(randomFor('one', 1)()).not.toBe(randomFor('another', 1)());
  });
});
