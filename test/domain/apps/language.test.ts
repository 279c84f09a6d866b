import { describe, expect, it } from 'vitest';
import { closestLanguage, isLanguage, languageLabel } from '../../../domain/apps/language.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('');
const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second)).filter(isLanguage);

describe('a language', () => {
  it('is one of the 183 codes of ISO 639-1, each with an English name of its own', () => {
    expect(codes).toHaveLength(183);
    const labels = codes.map(languageLabel);
    expect(new Set(labels).size).toBe(183);
    expect(labels.filter((label) => !/^\p{Lu}[\p{L} -]+$/u.test(label))).toEqual([]);
  });

  it.each([
    ['en', 'English'],
    ['fr', 'French'],
    ['zh', 'Chinese'],
    ['nb', 'Norwegian Bokmål'],
    ['tl', 'Tagalog'],
    ['tw', 'Twi'],
  ])('%s is %s', (code, label) => expect(languageLabel(code)).toBe(label));

  it.each(['', 'e', 'xx', 'EN', 'eng', 'en-US', 'en_US', ' en', 'en\n', 'iw', '__proto__', 'constructor'])(
    'is not %j',
    (code) => {
      expect(isLanguage(code)).toBe(false);
    },
  );

  it.each([
    ['EN', 'en'],
    ['en-US', 'en'],
    ['pt_BR', 'pt'],
    [' fr', 'fr'],
    ['iw', 'he'],
    ['mo-MD', 'ro'],
    ['xx', null],
    ['', null],
  ])('that was meant by %j is %j', (given, meant) => expect(closestLanguage(given)).toBe(meant));
});
