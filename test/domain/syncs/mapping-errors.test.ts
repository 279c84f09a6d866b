import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { type Conversion, prepareConversion } from '../../../domain/attributes/field-conversion.ts';
import { type GivenField, type GivenMapping, mappingErrors } from '../../../domain/syncs/mapping-errors.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const base: GivenMapping = {
  customer: { field: 'email', type: 'user_id' },
  fields: [],
  otherFields: 'keep',
  empty: 'fail',
};
const all = { needsCustomer: true };
const errorsOf = (fields: GivenField[]) => mappingErrors({ ...base, fields }, all);
const elementsOf = (fields: GivenField[]) => errorsOf(fields).map(({ element }) => element);
const formatFaults = (format: string) =>
  errorsOf([{ from: 'a', convert: { as: 'datetime', format } }]).map(({ message }) => message);

test('a sound mapping has no faults', () => {
  expect(
    errorsOf([
      { from: 'plan_name', to: 'plan' },
      { from: 'born', to: 'birthday', convert: { as: 'date', format: 'dd/MM/yyyy', zone: 'Europe/Paris' } },
      { to: 'origin', value: 'shop' },
      { to: 'gone', value: null },
      { from: 'notes', drop: true },
      { from: 'born', convert: { as: 'datetime', format: 'unix' } },
      { from: 'n', convert: { as: 'number', decimal: ',' } },
      { from: 'b', convert: { as: 'boolean', true: ['oui'], false: ['non'] } },
      { from: 's', convert: { as: 'set', separator: ' | ' } },
    ]),
  ).toEqual([]);
  expect(mappingErrors({ ...base, customer: null }, { needsCustomer: false })).toEqual([]);
});

test.each<[fields: GivenField[], element: string]>([
  [[{}], 'mapping.fields.0'],
  [[{ to: 'a' }], 'mapping.fields.0'],
  [[{ drop: true }], 'mapping.fields.0'],
  [[{ from: 'a', value: 1 }], 'mapping.fields.0'],
  [[{ to: 'a', value: 1, convert: { as: 'string' } }], 'mapping.fields.0'],
  [[{ from: 'a', drop: true, to: 'b' }], 'mapping.fields.0'],
  [[{ from: 'a' }, { from: 'b', to: 'a' }], 'mapping.fields.1.to'],
  [
    [
      { from: 'b', to: 'a' },
      { to: 'a', value: null },
    ],
    'mapping.fields.1.to',
  ],
  [[{ from: '' }], 'mapping.fields.0.from'],
  [[{ from: '😀'.repeat(257) }], 'mapping.fields.0.from'],
  [[{ from: 'a\0' }], 'mapping.fields.0.from'],
  [[{ from: 'a', to: '' }], 'mapping.fields.0.to'],
  [[{ to: 'a', value: 'x\ud83d' }], 'mapping.fields.0.value'],
  [[{ from: 'a', convert: { as: 'date', zone: 'Europe/Atlantis' } }], 'mapping.fields.0.zone'],
  [[{ from: 'a', convert: { as: 'date', format: 'HH:mm' } }], 'mapping.fields.0.format'],
  [[{ from: 'a', convert: { as: 'date', format: '\0yyyy' } }], 'mapping.fields.0.format'],
  [[{ from: 'a', convert: { as: 'set', separator: '' } }], 'mapping.fields.0.separator'],
  [[{ from: 'a', convert: { as: 'boolean', true: [] } }], 'mapping.fields.0.true'],
  [[{ from: 'a', convert: { as: 'boolean', true: ['oui', ' '] } }], 'mapping.fields.0.true.1'],
  [[{ from: 'a', convert: { as: 'boolean', true: ['x'], false: [' X '] } }], 'mapping.fields.0.false'],
  [[{ from: 'a', convert: { as: 'boolean', true: ['No'] } }], 'mapping.fields.0.true'],
  [[{ from: 'a', convert: { as: 'boolean', false: ['on'] } }], 'mapping.fields.0.false'],
])('%j is told by its element', (fields, element) => {
  expect(elementsOf(fields)).toEqual([element]);
});

test('up to 1,000 entries are taken', () => {
  const fields = Array.from({ length: 1_000 }, (_, number) => ({ from: `f${number}` }));
  expect(errorsOf(fields)).toEqual([]);
  expect(elementsOf([...fields, { from: 'more' }])).toEqual(['mapping.fields']);
});

test('faults are told together, but not without end', () => {
  expect(elementsOf([{ from: '' }, { from: 'a', convert: { as: 'date', zone: 'x', format: 'x' } }])).toEqual([
    'mapping.fields.0.from',
    'mapping.fields.1.format',
    'mapping.fields.1.zone',
  ]);
  expect(errorsOf(Array.from({ length: 1_000 }, () => ({})))).toHaveLength(50);
});

test('a mapping that writes nothing is refused, and one to attributes without a customer', () => {
  expect(mappingErrors({ ...base, otherFields: 'drop', fields: [{ from: 'a', drop: true }] }, all)).toMatchObject([
    { element: 'mapping.fields' },
  ]);
  expect(mappingErrors({ ...base, customer: null }, all)).toMatchObject([{ element: 'mapping.customer' }]);
});

test('a field that the source does not have is told with the nearest that it has', () => {
  const fields = [{ from: 'plan' }, { from: 'plam' }, { to: 'origin', value: 1 }];
  const mapping: GivenMapping = { ...base, customer: { field: 'emial', type: 'device_id' }, fields };
  expect(mappingErrors(mapping, { ...all, knownFields: ['plan', 'email'] })).toEqual([
    { element: 'mapping.customer.field', message: 'is "emial", which the source does not have: did you mean "email"?' },
    { element: 'mapping.fields.1.from', message: 'is "plam", which the source does not have: did you mean "plan"?' },
  ]);
  expect(mappingErrors(base, { ...all, knownFields: [] })).toMatchObject([
    { message: expect.stringContaining('it has none') },
  ]);
});

describe('a format', () => {
  test.each([
    'dd/MM/yyyy',
    'd.M.yy',
    'yyyy-MM-dd HH:mm',
    "yyyy-MM-dd'T'HH:mm:ss.SSSZZ",
    'LLLL d, yyyy h:mm a',
    'EEE, dd LLL yyyy HH:mm:ss ZZZ',
    'MM/yyyy',
    'yyyy',
    'yyyy-ooo',
    "kkkk-'W'WW-c",
    "kkkk-'W'WW",
    'yyyyMMddHHmmss',
    'yyMMdd',
    'dMMyyyy',
    'yyyy-MM-dd HH:mm:ss.u',
    'D',
    'DD',
    'DDDD',
    'ff',
    'yyyy-MM-dd HH:mm z',
  ])('may be %s', (format) => {
    expect(formatFaults(format)).toEqual([]);
  });

  test.each([
    ['', 'year'],
    ['HH:mm', 'year'],
    ['dd/MM/YYYY', 'year'],
    ['DD/MM/YYYY', 'tells the'],
    ['X', 'year'],
    ["'yyyy'", 'year'],
    ['dd/MM', 'year'],
    ['dd/yyyy', 'something is missing'],
    ['yyyy-MM-dd mm', 'something is missing'],
    ['yyyy-MM-dd hh:mm', 'something is missing'],
    ['kkkk', 'something is missing'],
    ['a yyyy', 'something is missing'],
    ["yyyy-'Q'q", 'something is missing'],
    ['q dd yyyy', 'something is missing'],
    ['yyyy-MM-dd HH:mm a', 'meridiem'],
    ['yyyy-MM-dd ooo', 'ordinal'],
    ['kkkk-MM-dd', 'mix'],
    ['yyyy-MM-dd TTTT', 'cannot read'],
    [' yyyy-MM-dd', 'cannot read'],
    ['yyyy MM LLL', 'the month twice'],
    ['yMyM', 'the year twice'],
    ['My', 'digits of M and y'],
    ['dMMy', 'digits of d and y'],
    ['yyyy-MM-dd Hm', 'digits of H and m'],
    ['yyyy '.padEnd(101, 'x'), 'over 100'],
  ])('is not %j', (format, fault) => {
    expect(formatFaults(format)).toEqual([expect.stringContaining(fault)]);
  });

  test.each([
    ['DD/MM/YYYY', 'dd/MM/yyyy'],
    ['YYYY-MM-DD', 'yyyy-MM-dd'],
    ['D.M.YY', 'd.M.yy'],
    ['YYYYMMDD', 'yyyyMMdd'],
    ['dd/mm/yyyy', 'dd/MM/yyyy'],
    ['DD/MM/YYYY HH:MM:SS', 'dd/MM/yyyy HH:mm:ss'],
    ['YYYY-MM-DDTHH:mm:ss', "yyyy-MM-dd'T'HH:mm:ss"],
    ['YYYY-MM-DD[T]HH:mm', "yyyy-MM-dd'T'HH:mm"],
    ['MM/DD/YYYY h:mm A', 'MM/dd/yyyy h:mm a'],
    ['%d/%m/%Y', 'dd/MM/yyyy'],
    ['%Y-%m-%d %H:%M', 'yyyy-MM-dd HH:mm'],
    ['yyyy-MM-dd hh:mm', 'yyyy-MM-dd HH:mm'],
    ["YYYY 'YYYY' MM", "yyyy 'YYYY' MM"],
  ])('%s is told to be meant as %s', (format, meant) => {
    expect(formatFaults(format)).toEqual([
      expect.stringContaining(`: did you mean ${meant}? yyyy is the year, MM the month`),
    ]);
  });

  test('is told without another one where none is likely to be meant', () => {
    for (const format of ['dd/MM', 'MM', 'X', 'HH:mm', '%d/%m', 'yyyy MM LLL']) {
      expect(formatFaults(format)).toEqual([expect.not.stringContaining('did you mean')]);
    }
  });

  const piece = fc.constantFrom(
    'yyyy',
    'yy',
    'y',
    'MM',
    'M',
    'LLL',
    'dd',
    'd',
    'HH',
    'H',
    'hh',
    'a',
    'mm',
    'ss',
    'SSS',
    'u',
    'ooo',
    'q',
    'kkkk',
    'WW',
    'c',
    'EEE',
    'ZZ',
    'z',
    'G',
    'D',
    't',
    'F',
    'X',
    '-',
    '/',
    ' ',
    ':',
    "'",
    "'T'",
    '.',
    '(',
    '[',
    '\\',
    'é',
  );
  const format = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

  test('either has a fault or reads what it writes, whatever it is made of', () => {
    const day = fc.date({
      min: new Date('1970-01-01T00:00:00Z'),
      max: new Date('2059-12-31T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(format, day, (given, written) => {
        const conversion: Conversion = { as: 'datetime', format: given };
        if (formatFaults(given).length > 0) return;
        const text = DateTime.fromJSDate(written, { zone: 'utc' }).toFormat(given);
        const read = prepareConversion(conversion)(text);
        expect(read).toMatchObject({ ok: true });
        const instant = Date.parse((read as { value: string }).value);
        expect(DateTime.fromMillis(instant, { zone: 'utc' }).toFormat(given)).toBe(text);
        expect(Math.abs(instant - written.getTime())).toBeLessThan(366 * 24 * 3_600_000);
      }),
      { numRuns: sampledRuns(1_000) },
    );
  });

  test('takes no long time to read anything', () => {
    const digits = fc.stringMatching(/^[\d /:-]{0,80}x?$/);
    const long = fc.uniqueArray(piece, { minLength: 8, maxLength: 20 }).map((pieces) => pieces.join(''));
    expect(
      cpuTime(() =>
        fc.assert(
          fc.property(long, digits, (given, text) => {
            if (formatFaults(given).length === 0) prepareConversion({ as: 'datetime', format: given })(text);
          }),
          { numRuns: sampledRuns(300) },
        ),
      ),
    ).toBeLessThan(4_000);
  });
});
