import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNameFinder } from '../../../domain/text/name-finder.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const word = fc.string({ unit: fc.constantFrom(...Array.from('ab1@é')), minLength: 1, maxLength: 12 });
const names = fc.array(fc.array(word, { maxLength: 2 }), { maxLength: 40 });

describe('names in a text', () => {
  it('are found where all of their parts stand in it, and only there', () => {
    fc.assert(
      fc.property(names, fc.array(word, { maxLength: 8 }), (parts, words) => {
        const text = words.join(' ');
        const standing = [...parts.keys()].filter((name) => parts[name]!.every((part) => text.includes(part)));
        expect([...createNameFinder(parts)(text)].toSorted((a, b) => a - b)).toEqual(standing);
      }),
      { numRuns: sampledRuns(2_000) },
    );
  });

  it('are found at the edges of a text, and as the whole of it', () => {
    const find = createNameFinder([['user-000017'], ['user-000018'], ['7'], []]);
    expect(find('user-000017')).toEqual(new Set([0, 2, 3]));
    expect(find('of user-000018')).toEqual(new Set([1, 3]));
    expect(find('')).toEqual(new Set([3]));
  });
});
