import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VALUE_TYPES } from '../../../domain/attributes/attribute-value.ts';
import { IMPORT_ERROR_TYPES } from '../../../domain/imports/import-error-type.ts';
import { checkRow, type RowContext } from '../../../domain/imports/import-row.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const attributes = new Map(
  [...VALUE_TYPES, 'Gone'].map((key, id) => {
    const valueType = VALUE_TYPES.find((type) => type === key) ?? 'String';
    return [key, { id, key, valueType, disabled: key === 'Gone' }];
  }),
);
const v2: RowContext = { version: 'v2', columns: 3, hasErrorColumns: false, attributes, sorDisabled: false };
const v3: RowContext = { ...v2, version: 'v3', columns: 4 };
const SAMPLES = {
  String: 'x',
  Number: '12',
  Boolean: 'true',
  Date: '2024-02-29',
  Datetime: '2024-02-29T10:00:00Z',
} as const;
const VALUES = { ...SAMPLES, Boolean: true, Datetime: '2024-02-29T10:00:00.000Z' };
const scalar = fc.constantFrom(...(Object.keys(SAMPLES) as (keyof typeof SAMPLES)[]));

const errorOf = (fields: string[], context: RowContext) => {
  const outcome = checkRow(fields, context);
  return 'errorType' in outcome ? `${outcome.kind} ${outcome.errorType}` : outcome.kind;
};

describe('a v2 row', () => {
  test('replaces a scalar', () => {
    fc.assert(
      fc.property(scalar, (key) => {
        expect(checkRow(['u1', key, SAMPLES[key]], v2)).toEqual({
          kind: 'value',
          attributeId: attributes.get(key)!.id,
          valueType: key,
          customerId: 'u1',
          customerType: 'user_id',
          action: 'set',
          value: VALUES[key],
        });
        expect(errorOf(['u1', key, ''], v2)).toBe('failed EMPTY_VALUE');
      }),
    );
  });

  test('is the new full state of a Set, and empties it without an element', () => {
    const row = { kind: 'set', attributeId: 5, valueType: 'Set', customerId: 'u1', customerType: 'user_id' };
    expect(checkRow(['u1', 'Set', 'a;b;a'], v2)).toEqual({ ...row, action: 'UPSERT', elements: ['a', 'b'] });
    expect(checkRow(['u1', 'Set', ''], v2)).toEqual({ ...row, action: 'DEL', elements: [] });
    expect(checkRow(['u1', 'Set', ';;'], v2)).toEqual({ ...row, action: 'DEL', elements: [] });
  });
});

describe('a v3 row', () => {
  test('replaces a scalar by ADD, UPSERT, REMOVE and no action', () => {
    fc.assert(
      fc.property(scalar, fc.constantFrom('ADD', 'UPSERT', 'REMOVE', ''), (key, action) => {
        expect(checkRow(['u1', key, SAMPLES[key], action], v3)).toMatchObject({
          kind: 'value',
          action: 'set',
          value: VALUES[key],
        });
        expect(errorOf(['u1', key, '', action], v3)).toBe('failed EMPTY_VALUE');
      }),
    );
  });

  test('removes a scalar by DEL, whatever the value', () => {
    fc.assert(
      fc.property(scalar, fc.string(), (key, value) => {
        expect(checkRow(['u1', key, value, 'DEL'], v3)).toMatchObject({ kind: 'value', action: 'remove', value: null });
      }),
    );
  });

  test('changes a Set by its action, UPSERT when there is none', () => {
    for (const action of ['ADD', 'REMOVE', 'UPSERT']) {
      expect(checkRow(['u1', 'Set', 'a;b', action], v3)).toMatchObject({ kind: 'set', action, elements: ['a', 'b'] });
      expect(errorOf(['u1', 'Set', '', action], v3)).toBe('failed EMPTY_VALUE');
      expect(errorOf(['u1', 'Set', ';', action], v3)).toBe('failed EMPTY_VALUE');
    }
    expect(checkRow(['u1', 'Set', 'a', ''], v3)).toMatchObject({ action: 'UPSERT', elements: ['a'] });
    expect(checkRow(['u1', 'Set', 'a'.repeat(300), 'DEL'], v3)).toMatchObject({ action: 'DEL', elements: [] });
  });

  test('without the action column is read as with an empty action', () => {
    const context: RowContext = { ...v3, columns: 3 };
    expect(checkRow(['u1', 'Set', 'a'], context)).toMatchObject({ action: 'UPSERT', elements: ['a'] });
    expect(errorOf(['u1', 'Set', ''], context)).toBe('failed EMPTY_VALUE');
    expect(checkRow(['u1', 'Number', '1'], context)).toMatchObject({ action: 'set', value: '1' });
  });

  test.each(['add', 'DELETE', ' ADD', 'UPSERT '])('with the action %j is INVALID_ACTION', (action) => {
    expect(errorOf(['u1', 'Set', 'a', action], v3)).toBe('failed INVALID_ACTION');
  });
});

describe('a row with lenient dates', () => {
  const lenient: RowContext = { ...v3, dates: 'lenient' };
  const MIDNIGHTS = ['T00:00', ' 00:00', 't00:00:00', 'T00:00:00.000', 'T00:00:00Z', 'T00:00+05:30', ' 00:00:00-08'];

  test('takes a midnight as the Date that is written, a day as a Datetime at its midnight in UTC, and all else as before', () => {
    const sameAsStrict = (...fields: string[]) => expect(checkRow(fields, lenient)).toEqual(checkRow(fields, v3));
    for (const time of MIDNIGHTS) {
      expect(checkRow(['u1', 'Date', `2024-02-29${time}`, ''], lenient)).toMatchObject({
        action: 'set',
        value: '2024-02-29',
      });
      expect(checkRow(['u1', 'Date', `2024-02-29${time}`, ''], v3)).toMatchObject({
        errorType: 'INVALID_VALUE',
        message: expect.stringMatching(/YYYY-MM-DD: for the day of a midnight, set dates to lenient$/),
      });
    }
    expect(checkRow(['u1', 'Datetime', '2024-02-29', ''], lenient)).toMatchObject({
      action: 'set',
      value: '2024-02-29T00:00:00.000Z',
    });
    expect(checkRow(['u1', 'Datetime', '2024-02-29', ''], v3)).toMatchObject({
      errorType: 'INVALID_VALUE',
      message: expect.stringMatching(/ISO 8601: for the midnight of a day, set dates to lenient$/),
    });
    for (const [key, text] of Object.entries(SAMPLES)) sameAsStrict('u1', key, text, '');
    const wrong = [
      '2024-02-29T00:01',
      '2024-02-29T00:00:00.001',
      '2024-02-29T24:00',
      '2023-02-29T00:00',
      '45352',
      '00:00:00',
      'x',
    ];
    for (const text of wrong) sameAsStrict('u1', 'Date', text, '');
    for (const text of ['2023-02-29', '29.02.2024', 'x']) sameAsStrict('u1', 'Datetime', text, '');
  });
});

describe('a row that changes nothing', () => {
  test('fails for its first fault, in the order of the checks', () => {
    // Each step mends one fault of the row before.
    const steps: [string[], string][] = [
      [['', '', ''], 'failed PARSING_FAILED'],
      [['', '', '', 'x'], 'failed INVALID_CUSTOMER_ID'],
      [['u1', '', '', 'x'], 'failed EMPTY_KEY'],
      [['u1', 'k'.repeat(257), '', 'x'], 'failed TOO_LONG_KEY'],
      [['u1', 'k'.repeat(256), '', 'x'], 'ignored UNDEFINED_ATTRIBUTE'],
      [['u1', 'Gone', '', 'x'], 'failed DISABLED_ATTRIBUTE'],
      [['u1', 'Number', '', 'x'], 'failed INVALID_ACTION'],
      [['u1', 'Number', '', 'ADD'], 'failed EMPTY_VALUE'],
      [['u1', 'Number', 'x', 'ADD'], 'failed INVALID_VALUE'],
      [['u1', 'String', 'x'.repeat(257), 'ADD'], 'failed TOO_LONG_VALUE'],
      [['u1', 'Set', `a;${'x'.repeat(257)}`, 'ADD'], 'failed TOO_LONG_VALUE'],
      [['u1', 'Set', Array.from({ length: 1001 }, (_, i) => i).join(';'), 'REMOVE'], 'failed TOO_LONG_SET_SIZE'],
    ];
    for (const [fields, expected] of steps) expect(errorOf(fields, v3)).toBe(expected);
  });

  test('says how many columns it should have', () => {
    expect(checkRow(['u1'], v2)).toMatchObject({
      errorType: 'PARSING_FAILED',
      message: 'the line has 1 column instead of 3 (user_id,attribute_key,value)',
    });
    expect(checkRow(['a', 'b', 'c', 'd', 'e'], v3)).toMatchObject({
      message: expect.stringMatching(/5 .* 4 .*action_type/),
    });
    expect(errorOf(['u1', 'String', 'x', 'ADD'], v2)).toBe('failed PARSING_FAILED');
    expect(errorOf(['u1', 'String', 'x'], v3)).toBe('failed PARSING_FAILED');
  });

  test('fails in a disabled SoR, save for keys that it doesn’t have', () => {
    const context = { ...v2, sorDisabled: true };
    expect(errorOf(['u1', 'String', 'x'], context)).toBe('failed DISABLED_ATTRIBUTE');
    expect(errorOf(['u1', 'other', 'x'], context)).toBe('ignored UNDEFINED_ATTRIBUTE');
  });

  test('counts the code points of a key', () => {
    expect(errorOf(['u1', '😀'.repeat(256), 'x'], v2)).toBe('ignored UNDEFINED_ATTRIBUTE');
    expect(errorOf(['u1', '😀'.repeat(257), 'x'], v2)).toBe('failed TOO_LONG_KEY');
  });

  test('shows what can be stored, cut to size, whatever the fields hold', () => {
    const unit = fc.constantFrom('a', '\0', '\n', '😀', '\ud83d', 'String', 'Set', 'Number', ';', '1', 'DEL');
    const field = fc.oneof(fc.string({ unit, maxLength: 5 }), fc.string({ unit, minLength: 200, maxLength: 600 }));
    fc.assert(
      fc.property(fc.array(field, { minLength: 2, maxLength: 5 }), (fields) => {
        const outcome = checkRow(fields, v3);
        if (!('errorType' in outcome)) return;
        expect(IMPORT_ERROR_TYPES).toContain(outcome.errorType);
        for (const text of [outcome.message, outcome.customerId ?? '', outcome.key ?? '']) {
          expect(text.includes('\0') || !text.isWellFormed() || text.length > 600).toBe(false);
        }
      }),
      { numRuns: sampledRuns(2000) },
    );
  });
});
