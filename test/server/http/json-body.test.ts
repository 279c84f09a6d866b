import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { jsonObject } from '../../../api/core/input.ts';
import * as api from '../../../api/feed/feed.ts';
import { numberText, parseExactJson } from '../../../domain/json/exact-json.ts';
import { parseJsonBody } from '../../../server/http/json-body.ts';
import { findJsonError } from '../../../server/http/json-body.ts';
import { validate } from '../../../server/http/validate.ts';
import { turnsDuring } from '../../harness/core/wait.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const DEPTH = 64;
const parse = async (text: string, options = {}) => parseJsonBody(Buffer.from(text), DEPTH, options);

describe('a JSON body', () => {
  test('is the value it says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 10 }), async (value) => {
        const json = JSON.stringify(value);
        fc.pre(!json.includes('__proto__'));
        expect(await parse(json)).toEqual(JSON.parse(json));
      }),
    );
  });

  const whole = fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String));
  const exponent = fc.constantFrom('', '', '', 'e3', 'E-7', 'e+21');
  const written = fc
    .tuple(fc.boolean(), whole, fc.option(fc.stringMatching(/^\d{1,20}$/)), exponent)
    .map(
      ([minus, digits, decimals, exp]) =>
        `${minus ? '-' : ''}${digits}${decimals === null ? '' : `.${decimals}`}${exp}`,
    );
  const edges = fc.constantFrom(
    '0',
    '-0',
    '-0.0',
    '0.0',
    '0.000001',
    '0.0000001',
    '-0.00000123',
    '0.5',
    '-5',
    '-0.5',
    '1.10',
    '10.01',
    '999999999999999',
    '9007199254740993',
    '12345678901.2345',
  );
  const number = fc.oneof(written, edges);

  test('keeps the digits of its numbers where that is asked for', async () => {
    await fc.assert(
      fc.asyncProperty(number, async (digits) => {
        const json = `{"-1.50":"[2.50]","a": ${digits} ,"b":[${digits}],"c":"\\udfff\\udfffx"}`;
        const parsed = (await parse(json, { exactNumbers: true })) as { a: unknown; b: unknown[]; c: string };
        expect([parsed.a, ...parsed.b].map(numberText)).toEqual([digits, digits]);
        expect(parsed.c).toBe('\udfff\udfffx');
        expect(await parse(digits, { exactNumbers: true }).then(numberText)).toBe(digits);
      }),
      { numRuns: sampledRuns(1_000) },
    );
  });

  test('that is large is the same, wherever it is cut', async () => {
    const long = fc.nat({ max: 200_000 }).map((length) => '"x]},'.repeat(length / 5));
    const numbers = fc
      .array(number, { minLength: 1, maxLength: 5 })
      .chain((some) =>
        fc
          .nat({ max: 20_000 })
          .map((times) => Array.from({ length: times }, (_, index) => some[index % some.length]).join(' ,')),
      );
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        long.map((text) => JSON.stringify(text)),
        numbers.map((list) => `[${list}]`),
        tie('array'),
        tie('object'),
      ),
      array: fc.array(tie('json'), { maxLength: 4 }).map((items) => `[ ${items.join(' , ')} ]`),
      object: fc
        .array(fc.tuple(fc.constantFrom('a', 'b', '1', '\u{1F600}', '__proto__', '"'), tie('json')), { maxLength: 4 })
        .map((items) => `{${items.map(([name, value]) => `${JSON.stringify(name)}\n: ${value as string}`).join(',')}}`),
    })) as { json: fc.Arbitrary<string> };
    await fc.assert(
      fc.asyncProperty(json, fc.boolean(), async (text, exactNumbers) => {
        const expected = exactNumbers ? parseExactJson(text) : (JSON.parse(text) as unknown);
        expect(JSON.stringify(await parse(text, { exactNumbers, proto: 'keep' }))).toBe(JSON.stringify(expected));
      }),
      { numRuns: sampledRuns(25) },
    );
  });

  test.each([
    ['nothing between two commas', (rest: string) => `[${rest},,${rest}]`],
    ['a comma at the end', (rest: string) => `[${rest},]`],
    ['one behind a large element', (rest: string) => `[[${rest}],]`],
    ['the wrong bracket', (rest: string) => `[${rest}}`],
    ['no bracket', (rest: string) => `[${rest}`],
    ['one too many', (rest: string) => `[${rest}]]`],
    ['an element without a comma', (rest: string) => `[[${rest}] 1]`],
    ['two in front of a large one', (rest: string) => `[1 [${rest}]]`],
    ['an element in an object', (rest: string) => `{"a":1,[${rest}]}`],
    ['a member in an array', (rest: string) => `["a":[${rest}]]`],
    ['a name that is a number', (rest: string) => `{"a":[${rest}],1e5:2}`],
    ['a number that is none', (rest: string) => `[${rest},1.e5]`],
  ])('that is large and no JSON is refused with its place: %s', async (_, broken) => {
    const rest = Array.from({ length: 40_000 }, () => '12345').join(',');
    for (const exactNumbers of [true, false]) {
      await expect(parse(broken(rest), { exactNumbers })).rejects.toThrow(/^body: is not valid JSON at position \d/);
    }
    expect(() => JSON.parse(broken(rest))).toThrow(SyntaxError);
  });

  test('that is large leaves the event loop to others', async () => {
    const rest = '{"name":"some text","number":12.50,"list":[1,2,3]},'.repeat(160_000);
    for (const json of [`[${rest}null]`, `[[${rest}null]`, `{"a":[${rest}1e400],"__proto__":[${rest}{}]}`]) {
      expect(await turnsDuring(() => parse(json, { exactNumbers: true }).catch(() => {}))).toBeGreaterThan(5);
    }
  });

  test('that is empty is none, and may begin with a byte order mark', async () => {
    expect(await parse('')).toBeUndefined();
    expect(await parse('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });

  test('brings no member named __proto__, however it is spelled', async () => {
    for (const name of ['__proto__', '\\u005f_proto__', '\\u005F\\u005Fproto\\u005f_']) {
      const value = (await parse(`{"a":{"${name}":{"admin":true},"b":"_"}}`)) as { a: { admin?: boolean } };
      expect(Object.keys(value.a)).toEqual(['b']);
      expect(value.a.admin).toBeUndefined();
    }
  });

  test('nests so deep and no deeper; brackets in strings do not count', async () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(await parse(nested(DEPTH))).toHaveLength(1);
    await expect(parse(nested(DEPTH + 1))).rejects.toThrow('nest');
    expect(await parse(`["\\"${'['.repeat(100)}"]`)).toHaveLength(1);
    await expect(parse('[{'.repeat(2_000_000))).rejects.toThrow('nest');
  });

  test('within a field of a web form nests no deeper either', () => {
    const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    const settings = (depth: number) =>
      validate(z.object({ settings: jsonObject(z.unknown()) }), { settings: nested(depth) }, 'body');
    expect(settings(DEPTH).settings).toHaveProperty('a');
    expect(() => settings(DEPTH + 1)).toThrow('settings: must not nest deeper than 64 levels');
    const feed = (values: string) =>
      validate(api.feedBody, { sor: 's', api_key: 'k', customer_attribute_values: values }, 'body');
    expect(feed(nested(DEPTH)).customer_attribute_values).toHaveLength(1);
    expect(() => feed(nested(DEPTH + 1))).toThrow('customer_attribute_values: must not nest deeper than 64 levels');
  });
});

/** Where it is, at once. */
function placeOf(json: string): { position: number; line: number; column: number } {
  const finding = findJsonError(json);
  for (;;) {
    const { done, value } = finding.next();
    if (done) return value;
  }
}

describe('the place where a text stops being JSON', () => {
  test.each([
    ['{"a":x}', 5],
    ['{"a":1,}', 7],
    ['[1,2', 4],
    ['abc', 0],
    ['{"a":"b', 7],
    ['[1 2]', 3],
    ['{"a" 1}', 5],
    ['[1,]', 3],
    ['{,}', 1],
    ['"\\q"', 1],
    ['01', 1],
    ['1.', 1],
    ['{"a":1}}', 7],
    ['[}', 1],
    ['"a\nb"', 2],
    ['', 0],
    ['{1:2}', 1],
    ['nul', 0],
  ])('of %j is %i', (json, position) => {
    expect(() => JSON.parse(json)).toThrow('JSON');
    expect(placeOf(json).position).toBe(position);
  });

  test('is told by line and column', () => {
    expect(placeOf('{\n  "a": 1,\n  b: 2\n}')).toEqual({ position: 14, line: 3, column: 3 });
  });

  test('is the end of what is JSON, and nowhere else', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.boolean(), (value, pretty) => {
        const json = JSON.stringify(value, null, pretty ? 2 : 0);
        expect(placeOf(json).position).toBe(json.length);
      }),
    );
  });

  test('is never past what a broken text has in common with a sound one', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(), (value, at) => {
        const json = JSON.stringify(value);
        const cut = at % (json.length + 1);
        const broken = `${json.slice(0, cut)}\u0001${json.slice(cut)}`;
        expect(placeOf(broken).position).toBeLessThanOrEqual(cut);
      }),
    );
  });
});
