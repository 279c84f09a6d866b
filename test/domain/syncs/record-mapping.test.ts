import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../../domain/json/plain-json.ts';
import { mappingErrors } from '../../../domain/syncs/mapping-errors.ts';
import {
  type MappedField,
  type Mapping,
  prepareMapping,
  type SourceRecord,
} from '../../../domain/syncs/record-mapping.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const base: Mapping = { customer: { field: 'email', type: 'user_id' }, fields: [], otherFields: 'drop', empty: 'fail' };
const map = (record: SourceRecord, mapping: Partial<Mapping>) => prepareMapping({ ...base, ...mapping })(record);
const valuesOf = (record: SourceRecord, mapping: Partial<Mapping>) => Object.fromEntries(map(record, mapping).values);

const name = fc.constantFrom('email', 'plan', 'born', 'tags', '__proto__', 'constructor', 'n');
const json = fc.jsonValue() as fc.Arbitrary<Json>;
const record: fc.Arbitrary<SourceRecord> = fc
  .array(fc.tuple(name, fc.oneof(json, fc.constant(''))))
  .map((pairs) => Object.fromEntries(pairs));
const convert = fc.constantFrom(
  { as: 'string' },
  { as: 'number' },
  { as: 'boolean' },
  { as: 'set' },
  { as: 'date', format: 'dd/MM/yyyy' },
  undefined,
);
const field: fc.Arbitrary<MappedField> = fc.oneof(
  fc.record({ from: name, to: fc.option(name, { nil: undefined }), convert }) as fc.Arbitrary<MappedField>,
  fc.record({ from: name, drop: fc.constant(true as const) }),
  fc.record({ to: name, value: fc.constantFrom('shop', '', 1, true, null) }),
);
const anyMapping: fc.Arbitrary<Mapping> = fc.record({
  customer: fc.option(fc.record({ field: name, type: fc.constant('user_id' as const) })),
  fields: fc.array(field),
  otherFields: fc.constantFrom('keep', 'drop'),
  empty: fc.constantFrom('fail', 'remove'),
});

test('a field is written under its own name or another, a dropped one is not', () => {
  const fields: MappedField[] = [
    { from: 'plan_name', to: 'plan' },
    { from: 'age' },
    { from: 'notes', drop: true },
    { to: 'origin', value: 'shop' },
  ];
  const values = { plan: 'gold', age: 3, origin: 'shop' };
  const given = { email: 'a@example.com', plan_name: 'gold', age: 3, notes: 'x', other: [1] };
  expect(map(given, { fields })).toEqual({ customerId: 'a@example.com', values: Object.entries(values), errors: [] });
  expect(valuesOf(given, { fields, otherFields: 'keep' })).toEqual({ ...values, other: [1] });
});

test('one field may become several, and two may change places', () => {
  const fields: MappedField[] = [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'a' },
    { from: 'a', to: 'c' },
  ];
  expect(valuesOf({ a: '1', b: '2' }, { fields, otherFields: 'keep' })).toEqual({ a: '2', b: '1', c: '1' });
});

test('a name that an entry writes is not kept from the field that happens to have it', () => {
  expect(valuesOf({ b: 'its own' }, { fields: [{ from: 'a', to: 'b' }], otherFields: 'keep' })).toEqual({});
});

test('the customer is a value where an entry names the field, and never because others are kept', () => {
  const given = { email: 'a@example.com', n: 1 };
  expect(valuesOf(given, { otherFields: 'keep' })).toEqual({ n: 1 });
  expect(valuesOf(given, { fields: [{ from: 'email', to: 'mail' }], otherFields: 'keep' })).toEqual({
    n: 1,
    mail: 'a@example.com',
  });
  expect(map({ n: 1 }, {}).customerId).toBeUndefined();
  expect(map(given, { customer: null, otherFields: 'keep' })).toMatchObject({
    customerId: undefined,
    values: [
      ['email', 'a@example.com'],
      ['n', 1],
    ],
  });
});

test('what a record only inherits is none of its fields', () => {
  expect(
    map(
      {},
      { customer: { field: 'constructor', type: 'user_id' }, fields: [{ from: 'toString' }, { from: '__proto__' }] },
    ),
  ).toEqual({ customerId: undefined, values: [], errors: [] });
});

test('null removes whatever the conversion is, and a missing field does nothing', () => {
  const conversions = ['string', 'number', 'boolean', 'date', 'datetime', 'set'] as const;
  for (const as of conversions) {
    const fields: MappedField[] = [
      { from: 'a', convert: { as } },
      { from: 'b', convert: { as } },
    ];
    expect(map({ a: null }, { fields })).toMatchObject({ values: [['a', null]], errors: [] });
  }
});

test('an empty text fails a conversion, or removes', () => {
  const fields: MappedField[] = [
    { from: 'a', to: 'x', convert: { as: 'number' } },
    { from: 'b' },
    { from: 'c', convert: { as: 'set' } },
  ];
  const given = { a: ' ', b: '', c: ';;' };
  const emptyFault = { errorType: 'EMPTY_VALUE', message: 'the value is empty' };
  expect(map(given, { fields })).toMatchObject({
    values: [['b', '']],
    errors: [
      { from: 'a', to: 'x', ...emptyFault },
      { from: 'c', to: 'c', ...emptyFault },
    ],
  });
  expect(map(given, { fields, empty: 'remove' })).toMatchObject({
    values: [
      ['x', null],
      ['b', null],
      ['c', null],
    ],
    errors: [],
  });
  expect(valuesOf({ kept: '' }, { otherFields: 'keep', empty: 'remove' })).toEqual({ kept: null });
});

test("a value that can't be converted is a fault that quotes a little of it, and the others are written", () => {
  const fields: MappedField[] = [
    { from: 'born', to: 'birthday', convert: { as: 'date', format: 'dd/MM/yyyy' } },
    { from: 'plan' },
  ];
  const { values, errors } = map({ born: 'xxxxxxxxx '.repeat(10), plan: 'gold' }, { fields });
  expect(values).toEqual([['plan', 'gold']]);
  expect(errors).toEqual([
    {
      from: 'born',
      to: 'birthday',
      errorType: 'INVALID_VALUE',
      message: `"${'xxxxxxxxx '.repeat(6)}…" is not a date written as dd/MM/yyyy`,
    },
  ]);
});

test('any record can be mapped, and each name comes once', () => {
  fc.assert(
    fc.property(record, anyMapping, (given, mapping) => {
      const { values, errors } = prepareMapping(mapping)(given);
      const names = [...values.map(([to]) => to), ...errors.map(({ to }) => to)];
      expect(new Set(names).size).toBe(names.length);
      if (mapping.empty === 'remove') expect(values.map(([, value]) => value)).not.toContain('');
    }),
    { numRuns: sampledRuns(1_000) },
  );
});

test("neither the order of a record's fields matters, nor what was mapped before", () => {
  fc.assert(
    fc.property(record, record, anyMapping, (given, other, mapping) => {
      const mapOne = prepareMapping(mapping);
      const reversed: SourceRecord = Object.fromEntries(Object.entries(given).toReversed());
      const first = mapOne(given);
      mapOne(other);
      const second = mapOne(reversed);
      expect(second.customerId).toEqual(first.customerId);
      expect(new Map(second.values)).toEqual(new Map(first.values));
      expect(second.errors.map(({ to }) => to)).toEqual(first.errors.map(({ to }) => to));
    }),
  );
});

test("the order of entries doesn't matter where nothing is wrong with them", () => {
  fc.assert(
    fc.property(record, anyMapping, (given, mapping) => {
      fc.pre(mappingErrors(mapping, { needsCustomer: false }).length === 0);
      const reversed = { ...mapping, fields: mapping.fields.toReversed() };
      expect(new Map(prepareMapping(reversed)(given).values)).toEqual(new Map(prepareMapping(mapping)(given).values));
    }),
    { numRuns: sampledRuns(300) },
  );
});
