import fc from 'fast-check';
import { expect, test } from 'vitest';
import { refused, type RefusedRow } from '../../../domain/attributes/value-row.ts';
import { isStorable } from '../../../domain/text/text-limits.ts';
import { malformedError, recordError } from '../../../domain/syncs/record-error.ts';
import type { SourceRecord } from '../../../domain/syncs/record-mapping.ts';

const failed = (key: string, message = 'bad') => refused('INVALID_VALUE', message, 'u1', key);
const ignored = (key: string) => refused('UNDEFINED_ATTRIBUTE', 'unknown', 'u1', key);

test('a record has one error: the first that failed, and what else there was', () => {
  expect(recordError(7, { email: 'u1', a: 1 }, [ignored('x'), failed('a'), failed('b', 'worse')])).toEqual({
    line: 7,
    errorType: 'INVALID_VALUE',
    outcome: 'failed',
    stage: 'validation',
    message: 'bad; also: x: unknown; also: b: worse',
    customerId: 'u1',
    attributeKey: 'a',
    raw: '{"email":"u1","a":1}',
    originalLine: null,
    customerHash: null,
  });
});

test('a record whose values are all unknown is ignored', () => {
  expect(recordError(1, {}, [ignored('x'), ignored('y')])).toMatchObject({
    errorType: 'UNDEFINED_ATTRIBUTE',
    outcome: 'ignored',
    attributeKey: 'x',
    message: 'unknown; also: y: unknown',
  });
});

test('up to five further ones are told, and how many more there are', () => {
  const keys = Array.from({ length: 9 }, (_, number) => `k${number}`);
  expect(
    recordError(
      1,
      {},
      keys.map((key) => failed(key)),
    ).message,
  ).toBe('bad; also: k1: bad; also: k2: bad; also: k3: bad; also: k4: bad; also: k5: bad; and 3 more');
  expect(
    recordError(
      1,
      {},
      keys.slice(0, 6).map((key) => failed(key)),
    ).message,
  ).toMatch(/k5: bad$/);
});

test('an error names no customer or attribute where there was none, and the stage that it is told', () => {
  expect(recordError(1, {}, [refused('INVALID_CUSTOMER_ID', 'missing')], 'merge')).toMatchObject({
    customerId: null,
    attributeKey: null,
    stage: 'merge',
    message: 'missing',
  });
});

test('what could not be read as a record is shown as it came', () => {
  expect(malformedError(3, '{"a":', 'no JSON')).toMatchObject({
    line: 3,
    errorType: 'PARSING_FAILED',
    outcome: 'failed',
    stage: 'parsing',
    message: 'no JSON',
    raw: '{"a":',
    customerId: null,
    attributeKey: null,
  });
});

test('a record over 1 MiB is shown by its first 2 KiB, one that is nested too deeply not at all', () => {
  expect(recordError(1, { a: 'x'.repeat(1024 ** 2) }, [failed('a')]).raw).toBe(`{"a":"${'x'.repeat(2048 - 6)}`);
  expect(malformedError(1, '😀'.repeat(1024 ** 2), 'bad').raw).toBe('😀'.repeat(1024));
  const deep = JSON.parse(`{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`) as SourceRecord;
  expect(recordError(1, deep, [failed('a')]).raw).toBe('(nested too deeply to be shown)');
});

test('any record and any refusals make an error that can be stored', () => {
  const text = fc.string({ unit: 'binary', maxLength: 600 });
  const refusal: fc.Arbitrary<RefusedRow> = fc
    .tuple(fc.constantFrom('INVALID_VALUE', 'UNDEFINED_ATTRIBUTE', 'PARSING_FAILED'), text, text)
    .map(([errorType, customerId, key]) => refused(errorType as 'INVALID_VALUE', 'bad', customerId, key));
  const record = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), text) as fc.Arbitrary<SourceRecord | string>;
  fc.assert(
    fc.property(fc.nat(), record, fc.array(refusal, { minLength: 1, maxLength: 12 }), (ordinal, given, refusals) => {
      const error = recordError(ordinal, given, refusals);
      expect(error.outcome).toBe(refusals.some(({ kind }) => kind === 'failed') ? 'failed' : 'ignored');
      expect(error.stage).toBe(error.errorType === 'PARSING_FAILED' ? 'parsing' : 'validation');
      for (const shown of [error.message, error.customerId, error.attributeKey, error.raw])
        expect(isStorable(shown ?? '')).toBe(true);
      if (typeof given === 'object') expect(JSON.parse(error.raw!)).toEqual(JSON.parse(JSON.stringify(given)));
    }),
  );
});
