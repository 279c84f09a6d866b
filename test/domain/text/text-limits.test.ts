import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shorten, withoutCutWord } from '../../../domain/text/text-limits.ts';
import { crashOf } from '../../../domain/tracking/read-call.ts';

const ID = 'nia@example.com';
/** An erasure would not find this: the id is gone, and a part of it is left. */
const hasPart = (text: string) => text.replaceAll(ID, '').includes('nia');

test('a text that is cut holds an id as a whole or not at all', () => {
  const between = fc.constantFrom(' ', ', ', '","', ';', '\n', '=');
  const word = fc.oneof(fc.constantFrom(ID, 'of', 'x'.repeat(40)));
  const text = fc.array(fc.tuple(word, between), { minLength: 1, maxLength: 20 }).map((words) => words.flat().join(''));
  fc.assert(
    fc.property(text, fc.nat(300), (whole, max) => {
      const cut = shorten(whole, max);
      expect(whole.startsWith(cut) && cut.length <= max && !hasPart(cut)).toBe(true);
      expect(hasPart(withoutCutWord(whole.slice(0, max)))).toBe(false);
    }),
  );
});

test('a text without an end of a word is cut where the limit is, since no id is as long', () => {
  expect(shorten('x'.repeat(1_000), 300)).toBe('x'.repeat(300));
  expect(withoutCutWord('x'.repeat(300))).toBe('x'.repeat(300));
  expect([shorten('as it is', 8), shorten('as it is', 7)]).toEqual(['as it is', 'as it ']);
});

test('the title of a crash holds no part of an id', () => {
  const { crashTitle } = crashOf('Crashed', { message: `${'no values '.repeat(24)}for ${ID}` }, () => '');
  expect(crashTitle).toMatch(/for $/);
});
