import fc from 'fast-check';
import { expect, test } from 'vitest';
import { numberText, parseExactJson } from '../../../domain/json/exact-json.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

test('what is parsed exactly is written again as it was', () => {
  const number = fc
    .tuple(fc.bigInt(), fc.option(fc.nat()), fc.option(fc.integer({ min: -400, max: 400 })))
    .map(
      ([whole, fraction, exponent]) =>
        `${whole}${fraction === null ? '' : `.${fraction}0`}${exponent === null ? '' : `E${exponent}`}`,
    );
  fc.assert(
    fc.property(fc.array(number), fc.json(), (numbers, rest) => {
      const json = `{"numbers":[${numbers.join()}],"rest":${JSON.stringify(JSON.parse(rest))},"text":"[1.50, 2]"}`;
      const parsed = parseExactJson(json) as { numbers: unknown[] };
      expect(parsed.numbers.map(numberText)).toEqual(numbers);
      expect(JSON.stringify(parsed)).toBe(json);
    }),
  );
});

test('a member named __proto__ is kept as any other, however it is spelled', () => {
  for (const name of ['__proto__', '__pr\\u006fto__', '\\u005f_proto__']) {
    for (const number of ['1', '1.50']) {
      const parsed = parseExactJson(`{"${name}": {"a": ${number}}, "b": "c"}`) as object;
      expect(JSON.stringify(parsed)).toBe(`{"__proto__":{"a":${number}},"b":"c"}`);
      expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    }
  }
});

test.each([
  '0.1',
  '-0',
  '-0.0',
  '1.0',
  '1.50',
  '100',
  '1e3',
  '1E-7',
  '0.0000001',
  '0.000001',
  '-0.00000123',
  '123456789012345',
  '1234567890123456',
  '9007199254740993',
  '0.1234567890123456789',
  '12345678901.2345',
  '1.10',
  '10.01',
  '-5',
  '1e21',
  '1000000000000000000000',
])('a number alone, in an array and as a member keeps its digits: %s', (digits) => {
  expect(numberText(parseExactJson(digits))).toBe(digits);
  expect(numberText((parseExactJson(`[1,${digits}]`) as unknown[])[1])).toBe(digits);
  expect(numberText((parseExactJson(`{"a": ${digits}, "b":2}`) as { a: unknown }).a)).toBe(digits);
});

test('numbers of any size and with any number of decimals keep their digits', () => {
  const whole = fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String));
  const written = fc
    .tuple(fc.boolean(), whole, fc.option(fc.stringMatching(/^\d{1,20}$/)))
    .map(
      ([isNegative, digits, decimals]) => `${isNegative ? '-' : ''}${digits}${decimals === null ? '' : `.${decimals}`}`,
    );
  fc.assert(
    fc.property(fc.array(written), (numbers) => {
      const parsed = parseExactJson(`[${numbers.join(',')}]`) as unknown[];
      expect(parsed.map(numberText)).toEqual(numbers);
    }),
    { numRuns: sampledRuns(500) },
  );
});
