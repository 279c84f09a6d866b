import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numberText } from '../../domain/exact-json.ts';
import { parseJsonBody } from '../../server/json-body.ts';
import { findJsonFault } from '../../server/json-fault.ts';

const DEPTH = 64;
const parse = (text: string) => parseJsonBody(Buffer.from(text), DEPTH);

describe('a JSON body', () => {
  test('is the value it says', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
      const json = JSON.stringify(value);
      fc.pre(!json.includes('__proto__'));
      expect(parse(json)).toEqual(JSON.parse(json));
    }));
  });

  test('keeps the digits of its numbers where that is asked for', () => {
    const whole = fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String));
    const exponent = fc.constantFrom('', '', '', 'e3', 'E-7', 'e+21');
    const written = fc.tuple(fc.boolean(), whole, fc.option(fc.stringMatching(/^\d{1,20}$/)), exponent)
      .map(([minus, digits, decimals, exp]) => `${minus ? '-' : ''}${digits}${decimals === null ? '' : `.${decimals}`}${exp}`);
    const edges = fc.constantFrom(
      '0', '-0', '-0.0', '0.0', '0.000001', '0.0000001', '-0.00000123', '0.5', '-5', '-0.5', '1.10', '10.01',
      '999999999999999', '9007199254740993', '12345678901.2345');
    fc.assert(fc.property(fc.oneof(written, edges), (number) => {
      const json = `{"-1.50":"[2.50]","a": ${number} ,"b":[${number}]}`;
      const parsed = parseJsonBody(Buffer.from(json), DEPTH, { exactNumbers: true }) as { a: unknown; b: unknown[] };
      expect([parsed.a, ...parsed.b].map(numberText)).toEqual([number, number]);
    }), { numRuns: 1_000 });
  });

  test('that is empty is none, and may begin with a byte order mark', () => {
    expect(parse('')).toBeUndefined();
    expect(parse('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });

  test('brings no member named __proto__, however it is spelled', () => {
    for (const name of ['__proto__', '\\u005f_proto__', '\\u005F\\u005Fproto\\u005f_']) {
      const value = parse(`{"a":{"${name}":{"admin":true},"b":"_"}}`) as { a: { admin?: boolean } };
      expect(Object.keys(value.a)).toEqual(['b']);
      expect(value.a.admin).toBeUndefined();
    }
  });

  test('nests so deep and no deeper; brackets in strings do not count', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parse(nested(DEPTH))).not.toThrow();
    expect(() => parse(nested(DEPTH + 1))).toThrow('nest');
    expect(parse(`["\\"${'['.repeat(100)}"]`)).toHaveLength(1);
    expect(() => parse('[{'.repeat(2_000_000))).toThrow('nest');
  });
});

describe('the place where a text stops being JSON', () => {
  test.each([
    ['{"a":x}', 5], ['{"a":1,}', 7], ['[1,2', 4], ['abc', 0], ['{"a":"b', 7], ['[1 2]', 3], ['{"a" 1}', 5], ['[1,]', 3],
    ['{,}', 1], ['"\\q"', 1], ['01', 1], ['1.', 1], ['{"a":1}}', 7], ['[}', 1], ['"a\nb"', 2], ['', 0], ['{1:2}', 1],
    ['nul', 0],
  ])('of %j is %i', (json, position) => {
    expect(() => JSON.parse(json)).toThrow('JSON');
    expect(findJsonFault(json).position).toBe(position);
  });

  test('is told by line and column', () => {
    expect(findJsonFault('{\n  "a": 1,\n  b: 2\n}')).toEqual({ position: 14, line: 3, column: 3 });
  });

  test('is the end of what is JSON, and nowhere else', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), fc.boolean(), (value, pretty) => {
      const json = JSON.stringify(value, null, pretty ? 2 : 0);
      expect(findJsonFault(json).position).toBe(json.length);
    }));
  });

  test('is never past what a broken text has in common with a sound one', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(), (value, at) => {
      const json = JSON.stringify(value);
      const cut = at % (json.length + 1);
      const broken = `${json.slice(0, cut)}\u0001${json.slice(cut)}`;
      expect(findJsonFault(broken).position).toBeLessThanOrEqual(cut);
    }));
  });
});
