import { expect, test } from 'vitest';
import { valuesByName } from '../../../server/http/bodies.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';

test.each([
  [
    [
      ['a', '1'],
      ['b', '2'],
    ],
    { a: '1', b: '2' },
  ],
  [
    [
      ['a', '1'],
      ['a', '2'],
      ['a[]', '3'],
    ],
    { a: ['1', '2', '3'] },
  ],
  [[['a[]', '1']], { a: ['1'] }],
  [
    [
      ['a', ['1', '2']],
      ['a[]', '3'],
    ],
    { a: ['1', '2', '3'] },
  ],
] as [[string, unknown][], object][])('pairs %j are gathered by name', (pairs, fields) => {
  expect(valuesByName(pairs)).toEqual(fields);
});

test('a million pairs of one name are gathered in a moment', () => {
  const pairs = Array.from({ length: 1_000_000 }, (): [string, string] => ['a', 'x']);
  expect(cpuTime(() => expect(valuesByName(pairs)['a']).toHaveLength(1_000_000))).toBeLessThan(5_000);
});
