import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiKeyError } from '../../../domain/apps/api-key.ts';
import { newApiKey } from '../../../store/core/identifiers.ts';

const PRINTABLE = Array.from({ length: 94 }, (_, index) => String.fromCodePoint(33 + index)).filter(
  (char) => char !== ':',
);
const char = fc.constantFrom(...PRINTABLE);
const shuffled = (parts: string[]) => fc.shuffledSubarray(parts, { minLength: parts.length, maxLength: parts.length });
const good = fc
  .tuple(
    fc.constantFrom('0', '5', '9'),
    fc.constantFrom('a', 'm', 'z'),
    fc.constantFrom('A', 'M', 'Z'),
    fc.array(char, { minLength: 5, maxLength: 253 }),
  )
  .chain(([digit, lower, upper, others]) => shuffled([digit, lower, upper, ...others]))
  .map((chars) => chars.join(''));

describe('a key of an app', () => {
  test('is sound with 8 to 256 characters, a digit, a lowercase and an uppercase letter', () => {
    fc.assert(
      fc.property(good, (key) => {
        expect(apiKeyError(key)).toBeUndefined();
      }),
    );
  });

  test('that is random is sound', () => {
    for (let times = 0; times < 1_000; times += 1) expect(apiKeyError(newApiKey())).toBeUndefined();
  });

  test('needs each of the kinds', () => {
    fc.assert(
      fc.property(good, fc.constantFrom(/\d/g, /[a-z]/g, /[A-Z]/g), (key, kind) => {
        expect(apiKeyError(key.replaceAll(kind, '-'))).toContain('a digit, a lowercase and an uppercase letter');
      }),
    );
  });

  test('is neither shorter nor longer', () => {
    expect(apiKeyError('aA34567')).toContain('at least 8');
    expect(apiKeyError('aA345678')).toBeUndefined();
    expect(apiKeyError(`aA3${'x'.repeat(253)}`)).toBeUndefined();
    expect(apiKeyError(`aA3${'x'.repeat(254)}`)).toContain('at most 256');
  });

  test("holds nothing that can't be the user of HTTP Basic", () => {
    const bad = fc.oneof(
      fc.constantFrom(':', ' ', '\0', '\n', '\u007f', 'é', '\ud800'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).filter((unit) => !PRINTABLE.includes(unit)),
    );
    fc.assert(
      fc.property(
        good.filter(({ length }) => length < 200),
        bad,
        fc.nat(),
        (key, unit, at) => {
          const place = at % key.length;
          expect(apiKeyError(key.slice(0, place) + unit + key.slice(place))).toContain('printable ASCII');
        },
      ),
    );
  });
});
