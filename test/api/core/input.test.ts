import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bodyFlag, commaList, isoDatetime, pageNumber, queryFlag, text } from '../../../api/core/input.ts';

describe('input', () => {
  test('text is what can be stored, up to its length in code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), (value) => {
        const isSound = value.isWellFormed() && !value.includes('\0') && Array.from(value).length <= 10;
        expect(text({ max: 10 }).safeParse(value).success).toBe(isSound);
      }),
    );
  });

  test.each([
    ['a,b', ['a', 'b']],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      ['a,b', 'c'],
      ['a,b', 'c'],
    ],
    [['a,b'], ['a,b']],
    ['', []],
    ['a,,b,', ['a', 'b']],
  ])('a list %j is %j', (given, list) => {
    expect(commaList.parse(given)).toEqual(list);
  });

  test.each([
    ['', true],
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('a query flag %j is %s', (given, flag) => {
    expect(queryFlag.parse(given)).toBe(flag);
  });

  test.each([
    [true, true],
    ['true', true],
    [false, false],
    ['0', false],
  ])('a flag in a body %j is %s', (given, flag) => {
    expect(bodyFlag.parse(given)).toBe(flag);
    expect(bodyFlag.safeParse('yes').success).toBe(false);
  });

  test.each([
    ['2026-01-02T03:04:05+01:00'],
    ['2026-01-02T03:04:05+0100'],
    ['2026-01-02 02:04:05'],
    ['2026-01-02T02:04:05.000Z'],
  ])('a datetime %j is one instant', (given) => {
    expect(isoDatetime.parse(given)).toEqual(new Date('2026-01-02T02:04:05.000Z'));
    expect(isoDatetime.safeParse('yesterday').error?.issues[0]?.message).toBe(
      'must be a date and time in ISO 8601, such as 2026-01-31T12:30:00Z',
    );
    expect(isoDatetime.safeParse('2026-01-02T03:04:05 01:00').error?.issues[0]?.message).toBe(
      'must be a date and time in ISO 8601: write + as %2B in an address',
    );
  });

  test.each([
    ['1', 1],
    ['10000', 10_000],
    ['10001', 1_000],
    ['0', 1_000],
    ['-1', 1_000],
    ['x', 1_000],
    ['1.5', 1_000],
    [undefined, 1_000],
    [['1', '2'], 1_000],
  ])('a page size %j is read as %i', (given, size) => {
    expect(pageNumber({ min: 1, max: 10_000, otherwise: 1_000 }).parse(given)).toBe(size);
  });

  test('every piece can be described to the API page', () => {
    const page = pageNumber({ min: 1, max: 2, otherwise: 1 });
    const schema = z.object({ a: text(), b: commaList, c: queryFlag, d: bodyFlag, e: isoDatetime, f: page });
    expect(Object.keys(z.toJSONSchema(schema, { io: 'input' }).properties ?? {})).toHaveLength(6);
  });
});
