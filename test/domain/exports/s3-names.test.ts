import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BUCKET_NAME, REGION_NAME, subfolderError, trimSlashes } from '../../../domain/exports/s3-names.ts';

describe('the name of a bucket', () => {
  test.each(['abc', 'exports.example.com', 'a'.repeat(63), '3-2-1'])('may be %s', (name) => {
    expect(name).toMatch(BUCKET_NAME);
  });

  test.each(['ab', 'a'.repeat(64), 'Exports', 's3://exports', 'exports/daily', '-exports', 'exports.', 'ex_ports', ''])(
    'may not be %s',
    (name) => {
      expect(name).not.toMatch(BUCKET_NAME);
    },
  );
});

test.each([
  ['eu-west-1', true],
  ['us-gov-east-1', true],
  ['EU', false],
  ['', false],
  ['eu west', false],
])('the name of a region: %s is %s', (name, isOne) => {
  expect(REGION_NAME.test(name)).toBe(isOne);
});

describe('a folder of a bucket', () => {
  test.each([
    ['', ''],
    ['/', ''],
    ['///', ''],
    ['a', 'a'],
    ['/a/', 'a'],
    ['//a/b//', 'a/b'],
    ['a//b/', 'a//b'],
  ])('%j is %j without slashes at its ends', (folder, trimmed) => {
    expect(trimSlashes(folder)).toBe(trimmed);
  });

  test('keeps all but the slashes at its ends, however often they are taken off', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('/', 'a', '.', ' ') }), (folder) => {
        const trimmed = trimSlashes(folder);
        expect(trimmed).toBe(folder.replace(/^\/+/, '').replace(/\/+$/, ''));
        expect(trimSlashes(trimmed)).toBe(trimmed);
      }),
    );
  });

  test('may be any safe one, which is the same in an address', () => {
    const part = fc
      .string({ unit: fc.constantFrom(..."aZ09!-_.*'()".split('')), minLength: 1, maxLength: 20 })
      .filter((name) => !/^\.\.?$/.test(name));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 10 }), (parts) => {
        const folder = parts.join('/');
        expect(subfolderError(folder)).toBeUndefined();
        expect(new URL(`https://example.com/${folder}`).pathname).toBe(`/${folder}`);
      }),
    );
  });

  test.each([
    ['a//b', /two slashes/],
    ['a/../b', /named \. or \.\./],
    ['.', /named \. or \.\./],
    ['a b', /ASCII/],
    ['a?b', /ASCII/],
    ['größe', /ASCII/],
    ['a\\b', /ASCII/],
    ['a\nb', /ASCII/],
    ['x'.repeat(513), /at most 512/],
  ])('%j is refused with what would be right', (folder, why) => {
    expect(subfolderError(folder)).toMatch(why);
  });
});
