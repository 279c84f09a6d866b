import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { fixedHead, fixedRow, sayValue, table } from '../../../cli/core/table.ts';

const cell = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '漢字', 'a much longer text of several words'),
);
const rows = fc
  .integer({ min: 1, max: 7 })
  .chain((columns) =>
    fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 5 }),
  );
const width = fc.integer({ min: 12, max: 120 });

test('a table is never wider than the terminal', () => {
  fc.assert(
    fc.property(rows, width, (given, columns) => {
      const lines = table(
        given[0]!.map((_, at) => `head ${at}`),
        given,
        columns,
      ).split('\n');
      expect(lines.filter((line) => stringWidth(line) > columns)).toEqual([]);
    }),
  );
});

test('the last column keeps all of its text, however narrow the terminal', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(words, fc.stringMatching(/^[A-Z]{1,60}$/), width, (said, first, columns) => {
      const shown = table(['ID', 'REASON'], [[first, said.join(' ')]], columns);
      expect(shown.replaceAll(/[^a-z]/g, '')).toBe(said.join(''));
    }),
  );
});

test('a table that fits, or has no terminal, shows each cell whole; empty columns are left out', () => {
  const shown = 'id   name\n───  ────\none  x';
  expect(table(['id', 'empty', 'name'], [['one', '', 'x']])).toBe(shown);
  expect(table(['id', 'empty', 'name'], [['one', '', 'x']], 80)).toBe(shown);
  expect(table(['id', 'name'], [])).toBe('id  name\n──  ────');
  expect(table(['id', 'name'], [['one', 'y'.repeat(500)]])).toContain('y'.repeat(500));
});

test('rows that are printed as they come fit the terminal, too', () => {
  const columns = [
    { head: 'line', width: 9 },
    { head: 'error', width: 21 },
    { head: 'reason', width: 40 },
  ];
  fc.assert(
    fc.property(fc.array(cell, { minLength: 3, maxLength: 3 }), width, (row, terminal) => {
      const lines = [...fixedHead(columns, terminal).split('\n'), ...fixedRow(columns, row, terminal).split('\n')];
      expect(lines.filter((line) => stringWidth(line) > terminal)).toEqual([]);
    }),
  );
});

test.each([
  ['none', null],
  ['text', 'text'],
  ['true', true],
  ['9223372036854775807', 9223372036854775807n],
  ['', {}],
  ['WRONG_TYPE 3, UNKNOWN 1', { WRONG_TYPE: 3, UNKNOWN: 1 }],
  ['a, b', ['a', 'b']],
  [
    '(name A, kinds (x, y)), (name B, kinds none, at none)',
    [
      { name: 'A', kinds: ['x', 'y'] },
      { name: 'B', kinds: [], at: null },
    ],
  ],
])('a cell says %s', (said, value) => {
  expect(sayValue(value)).toBe(said);
});
