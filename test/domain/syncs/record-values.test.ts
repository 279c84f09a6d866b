import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_SET_SIZE, VALUE_TYPES } from '../../../domain/attributes/attribute-value.ts';
import { customerIdError } from '../../../domain/attributes/customer-id.ts';
import type { Json } from '../../../domain/json/plain-json.ts';
import { isLongerThan, isStorable } from '../../../domain/text/text-limits.ts';
import { IMPORT_ERROR_TYPES } from '../../../domain/imports/import-error-type.ts';
import { checkRow } from '../../../domain/imports/import-row.ts';
import type { FieldError, MappedRecord } from '../../../domain/syncs/record-mapping.ts';
import { checkRecord, type RecordRules } from '../../../domain/syncs/record-values.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const attributes = new Map(
  [...VALUE_TYPES, 'Gone'].map((key, id) => {
    const valueType = VALUE_TYPES.find((type) => type === key) ?? 'String';
    return [key, { id, key, valueType, disabled: key === 'Gone' }];
  }),
);
const rules: RecordRules = { attributes, sorDisabled: false, sorDeleted: false };
const customer = { field: 'email', type: 'user_id' } as const;
const mapped = (values: MappedRecord['values'], given: Partial<MappedRecord> = {}): MappedRecord => ({
  customerId: 'u1',
  values,
  errors: [],
  ...given,
});

function outcomeOf(key: string, value: Json) {
  const {
    rows: [row],
    refusals: [refusal],
  } = checkRecord(mapped([[key, value]]), rules, customer);
  if (refusal !== undefined) return refusal.errorType;
  return row!.kind === 'set' ? [row!.action, row!.elements] : [row!.action, row!.value];
}

const json = fc.jsonValue() as fc.Arbitrary<Json>;
const fitting = fc.constantFrom<Json[]>(
  'x',
  12,
  '12.5',
  true,
  'false',
  '2024-02-29',
  '2024-02-29T10:00',
  ['a', 1, true, ''],
  'a;b',
  null,
  '',
  [],
);
const key = fc.constantFrom(...attributes.keys(), 'other', '', 'x'.repeat(257));
const fault: fc.Arbitrary<FieldError> = fc.record({
  from: fc.string(),
  to: fc.string(),
  errorType: fc.constantFrom('EMPTY_VALUE', 'INVALID_VALUE'),
  message: fc.string(),
});
const record: fc.Arbitrary<MappedRecord> = fc.record({
  customerId: fc.oneof(fc.constantFrom('u1', 7, '12345678901234567890'), json, fc.constant(undefined)),
  values: fc.array(fc.tuple(key, fc.oneof(fitting, json))),
  errors: fc.array(fault, { maxLength: 3 }),
});

test('every value of any record is a row or a refusal, and rows keep the limits', () => {
  fc.assert(
    fc.property(record, fc.boolean(), (given, sorDisabled) => {
      const { rows, refusals } = checkRecord(given, { ...rules, sorDisabled }, customer);
      for (const refusal of refusals) {
        expect(IMPORT_ERROR_TYPES).toContain(refusal.errorType);
        expect(refusal.kind).toBe(refusal.errorType === 'UNDEFINED_ATTRIBUTE' ? 'ignored' : 'failed');
        expect(isStorable(`${refusal.customerId}${refusal.key}`)).toBe(true);
      }
      if (refusals[0]?.errorType === 'INVALID_CUSTOMER_ID') expect([rows, refusals.length]).toEqual([[], 1]);
      else expect(rows.length + refusals.length).toBe(given.values.length + given.errors.length);
      for (const row of rows) {
        expect(customerIdError(row.customerId)).toBeUndefined();
        if (row.kind === 'set') expect(row.elements.length === 0).toBe(row.action === 'DEL');
        else expect(row.value === null).toBe(row.action === 'remove');
        const texts = row.kind === 'set' ? row.elements : row.valueType === 'String' ? [String(row.value)] : [];
        expect(texts.length).toBeLessThanOrEqual(MAX_SET_SIZE);
        for (const text of texts) expect(isLongerThan(text, 256) || !isStorable(text)).toBe(false);
      }
    }),
    { numRuns: sampledRuns(2_000) },
  );
});

test('a text does what it does as a row of a file', () => {
  const any = fc.oneof(fc.string(), fc.constantFrom('1', 'true', 'a;b'));
  fc.assert(
    fc.property(fc.constantFrom(...attributes.keys(), 'other', ''), any, (name, text) => {
      const row = checkRow(['u1', name, text], {
        attributes,
        sorDisabled: false,
        version: 'v3',
        columns: 3,
        hasErrorColumns: false,
      });
      const { rows, refusals } = checkRecord(mapped([[name, text]]), rules, customer);
      expect([...rows, ...refusals]).toEqual([row]);
    }),
    { numRuns: sampledRuns(500) },
  );
});

describe('the customer', () => {
  test("is named by a text, or by a number's digits, and may be a device", () => {
    const ids = [
      ['a@example.com', 'a@example.com'],
      [7, '7'],
      [1e18, '1000000000000000000'],
      [1e-7, '0.0000001'],
    ] as const;
    for (const [given, customerId] of ids) {
      expect(
        checkRecord(mapped([['String', 'x']], { customerId: given }), rules, { ...customer, type: 'device_id' }).rows,
      ).toMatchObject([{ customerId, customerType: 'device_id' }]);
    }
  });

  test.each<[customerId: Json | undefined, message: string]>([
    [undefined, 'the field "email" is missing'],
    [null, 'the field "email" is null: it must be a text or a number'],
    [true, 'the field "email" is a boolean: it must be a text or a number'],
    [['u1'], 'the field "email" is an array: it must be a text or a number'],
    [1e21, 'the field "email" is the number 1e+21, which is too large or too long: send a text'],
    ['', 'the customer id is empty'],
    ['a\n', 'the customer id has a control character'],
  ])('that is %j is the one thing that is wrong with a record', (customerId, message) => {
    const { rows, refusals } = checkRecord(
      mapped(
        [
          ['String', 'x'],
          ['other', 1],
        ],
        {
          customerId,
          errors: [{ from: 'a', to: 'b', errorType: 'INVALID_VALUE', message: 'bad' }],
        },
      ),
      rules,
      customer,
    );
    expect(rows).toEqual([]);
    expect(refusals).toMatchObject([{ kind: 'failed', errorType: 'INVALID_CUSTOMER_ID', message }]);
  });
});

test('a SoR that is gone is told once', () => {
  expect(
    checkRecord(
      mapped([
        ['String', 'x'],
        ['Set', []],
      ]),
      { ...rules, sorDeleted: true },
      customer,
    ),
  ).toMatchObject({ rows: [], refusals: [{ errorType: 'EMPTY_SOR', customerId: 'u1' }] });
});

test('a conversion that failed fails its value alone', () => {
  const { rows, refusals } = checkRecord(
    mapped([['String', 'x']], {
      errors: [{ from: 'born', to: 'Date', errorType: 'INVALID_VALUE', message: '"x" is no date' }],
    }),
    rules,
    customer,
  );
  expect(rows).toHaveLength(1);
  expect(refusals).toEqual([
    { kind: 'failed', errorType: 'INVALID_VALUE', message: '"x" is no date', customerId: 'u1', key: 'Date' },
  ]);
});

test('a value without an attribute is ignored, one whose attribute is disabled fails', () => {
  expect(
    checkRecord(
      mapped([
        ['other', [1]],
        ['Gone', 'x'],
      ]),
      rules,
      customer,
    ).refusals,
  ).toMatchObject([
    { kind: 'ignored', errorType: 'UNDEFINED_ATTRIBUTE', key: 'other' },
    { kind: 'failed', errorType: 'DISABLED_ATTRIBUTE' },
  ]);
});

test.each<[type: string, value: Json, outcome: Json]>([
  ['String', 'x', ['set', 'x']],
  ['String', 12, ['set', '12']],
  ['String', false, ['set', 'false']],
  ['String', null, ['remove', null]],
  ['Number', 12.5, ['set', '12.5']],
  ['Number', '9007199254740993', ['set', '9007199254740993']],
  ['Number', 1e-7, ['set', '0.0000001']],
  ['Boolean', true, ['set', true]],
  ['Boolean', 'false', ['set', false]],
  ['Date', '2024-02-29', ['set', '2024-02-29']],
  ['Datetime', '2024-02-29T10:00', ['set', '2024-02-29T10:00:00.000Z']],
  ['Set', ['a', 1, true, 'a', '', 'b;c'], ['UPSERT', ['a', '1', 'true', 'b;c']]],
  ['Set', 'a;b;a', ['UPSERT', ['a', 'b']]],
  ['Set', [], ['DEL', []]],
  ['Set', null, ['DEL', []]],
  ['String', '', 'EMPTY_VALUE'],
  ['String', {}, 'INVALID_VALUE'],
  ['String', ['x'], 'INVALID_VALUE'],
  ['String', 'x'.repeat(257), 'TOO_LONG_VALUE'],
  ['Number', true, 'INVALID_VALUE'],
  ['Number', 1e19, 'INVALID_VALUE'],
  ['Boolean', 1, 'INVALID_VALUE'],
  ['Date', 20240229, 'INVALID_VALUE'],
  ['Datetime', 1700000000, 'INVALID_VALUE'],
  ['Set', 1, 'INVALID_VALUE'],
  ['Set', {}, 'INVALID_VALUE'],
  ['Set', '', 'EMPTY_VALUE'],
  ['Set', [null], 'INVALID_VALUE'],
  ['Set', [['a']], 'INVALID_VALUE'],
  ['Set', ['a\0'], 'INVALID_VALUE'],
  ['Set', [''], 'EMPTY_VALUE'],
  ['Set', ['x'.repeat(257)], 'TOO_LONG_VALUE'],
  ['Set', Array.from({ length: 1_001 }, (_, number) => number), 'TOO_LONG_SET_SIZE'],
])('a %s and %j', (type, value, outcome) => {
  expect(outcomeOf(type, value)).toEqual(outcome);
});

test('a value of another type is refused with what to do about it', () => {
  const messages = checkRecord(
    mapped([
      ['String', { a: 1 }],
      ['Number', [1]],
      ['Date', 5],
      ['Set', 5],
    ]),
    rules,
    customer,
  ).refusals.map(({ message }) => message);
  expect(messages).toEqual([
    'an object is no value of a String: map it as: string',
    'an array is no value of a Number: map it as: string, to a String',
    'a number is no value of a Date: send YYYY-MM-DD, or map it as: date with its format, such as unix',
    'a number is no value of a Set: send an array or a text, or map it as: set',
  ]);
});
