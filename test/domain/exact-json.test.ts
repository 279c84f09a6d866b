import fc from 'fast-check';
import { expect, test } from 'vitest';
import { numberText, parseExactJson } from '../../domain/exact-json.ts';

test('what is parsed exactly is written again as it was', () => {
  const number = fc.tuple(fc.bigInt(), fc.option(fc.nat()), fc.option(fc.integer({ min: -400, max: 400 })))
    .map(([whole, fraction, exponent]) => `${whole}${fraction === null ? '' : `.${fraction}0`}${exponent === null ? '' : `E${exponent}`}`);
  fc.assert(fc.property(fc.array(number), fc.json(), (numbers, rest) => {
    fc.pre(!rest.includes('__proto__'));
    const json = `{"numbers":[${numbers.join()}],"rest":${JSON.stringify(JSON.parse(rest))},"text":"[1.50, 2]"}`;
    const parsed = parseExactJson(json) as { numbers: unknown[] };
    expect(parsed.numbers.map(numberText)).toEqual(numbers);
    expect(JSON.stringify(parsed)).toBe(json);
  }));
});

test('a member named __proto__ is left out, however it is spelled', () => {
  for (const name of ['__proto__', '__pr\\u006fto__', '\\u005f_proto__']) {
    expect(parseExactJson(`{"${name}": {"a": 1}, "b": "c"}`)).toEqual({ b: 'c' });
  }
});
