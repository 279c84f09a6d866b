import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTechnicalName } from '../../../domain/apps/technical-name.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const ALLOWED = 'abcdefghijklmnopqrstuvwxyz_'.split('');

const sound = ({ min, max }: { min: number; max: number }) =>
  fc.array(fc.constantFrom(...ALLOWED), { minLength: min, maxLength: max }).map((letters) => letters.join(''));

describe('a technical name', () => {
  it('is 1 to 256 lowercase letters and underscores, whatever their order', () => {
    fc.assert(fc.property(sound({ min: 1, max: 256 }), isTechnicalName));
    expect(['a'.repeat(256), 'a'.repeat(257), ''].map(isTechnicalName)).toEqual([true, false, false]);
  });

  it('holds nothing else, wherever it stands', () => {
    const codePoint = fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0x80, max: 0x10ffff }));
    const other = codePoint.map((code) => String.fromCodePoint(code)).filter((text) => !ALLOWED.includes(text));
    const part = sound({ min: 0, max: 10 });
    fc.assert(
      fc.property(part, other, part, (before, wrong, after) => !isTechnicalName(before + wrong + after)),
      {
        numRuns: sampledRuns(1_000),
      },
    );
  });

  it.each(['Name', 'name1', 'a-b', 'a b', 'é', 'ß', 'ａ', 'name\n', ' name', 'a.b', 'ı'])('is not %j', (name) => {
    expect(isTechnicalName(name)).toBe(false);
  });
});
