import fc from 'fast-check';
import { expect, it } from 'vitest';
import { malformed } from '../../../connectors/core/json-record.ts';

const rawOf = (raw: Buffer | string) => {
  const item = malformed(raw, 'why');
  return item.kind === 'malformed' ? item.raw : '';
};

it('what is malformed is shown up to 2 KiB, and no letter is cut through', () => {
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .map((piece) => piece.repeat(Math.ceil(3_000 / piece.length)));
  fc.assert(
    fc.property(text, (long) => {
      const shown = rawOf(long);
      expect(rawOf(Buffer.from(long))).toBe(shown);
      expect(long.startsWith(shown)).toBe(true);
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(2_048);
      // A word that is cut is left out: at most 256 units of three bytes.
      expect(Buffer.byteLength(shown)).toBeGreaterThan(2_044 - 256 * 3);
    }),
  );
});

it('what is malformed is shown without the word that is cut', () => {
  const long = `${'a '.repeat(1_020)}nia@example.com and more`;
  expect([rawOf(long), rawOf(Buffer.from(long))]).toEqual(['a '.repeat(1_020), 'a '.repeat(1_020)]);
});

it('what is malformed and short is shown whole, with U+FFFD for what is not UTF-8', () => {
  expect(rawOf('{"a":')).toBe('{"a":');
  expect(rawOf(Buffer.from([0x61, 0xff, 0x62]))).toBe('a\uFFFDb');
  expect(Buffer.byteLength(rawOf(Buffer.alloc(5_000, 0xff)))).toBeLessThanOrEqual(2_048);
});
