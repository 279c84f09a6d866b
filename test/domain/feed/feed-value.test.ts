import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VALUE_TYPES } from '../../../domain/attributes/attribute-value.ts';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import { checkFeedValue, type FeedRules, type FeedValue } from '../../../domain/feed/feed-value.ts';
import { IMPORT_ERROR_TYPES } from '../../../domain/imports/import-error-type.ts';
import { checkRow } from '../../../domain/imports/import-row.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const attributes = new Map(
  [...VALUE_TYPES, 'Gone'].map((key, id) => {
    const valueType = VALUE_TYPES.find((type) => type === key) ?? 'String';
    return [key, { id, key, valueType, disabled: key === 'Gone' }];
  }),
);
const v2: FeedRules = { version: 'v2', attributes, sorDisabled: false, sorDeleted: false };
const v3: FeedRules = { ...v2, version: 'v3' };

/** Each type with values that it takes: as JSON writes them, and as they are stored. */
const SAMPLES = {
  String: [
    ['"x"', 'x'],
    ['"12"', '12'],
  ],
  Number: [
    ['12', '12'],
    ['12.50', '12.50'],
    ['"12.50"', '12.50'],
    ['9007199254740993', '9007199254740993'],
    ['-0.10', '-0.10'],
  ],
  Boolean: [
    ['true', true],
    ['"true"', true],
    ['false', false],
    ['"false"', false],
  ],
  Date: [['"2024-02-29"', '2024-02-29']],
  Datetime: [['"2024-02-29T10:00:00Z"', '2024-02-29T10:00:00.000Z']],
} as const;
const sample = fc.constantFrom(
  ...Object.entries(SAMPLES).flatMap(([type, values]) => values.map(([json, stored]) => ({ type, json, stored }))),
);
const scalar = fc.constantFrom(...Object.keys(SAMPLES));
const version = fc.constantFrom(v2, v3);
const action = fc.constantFrom('ADD', 'REMOVE', 'DEL', 'UPSERT');
const noAction = fc.constantFrom({}, { action_type: null }, { action_type: '' });

function value(key: string, json: string | undefined, members: object = {}): FeedValue {
  const given = json === undefined ? {} : { attribute_value: parseExactJson(json) };
  return { customer_id: 'u1', attribute_key: key, ...given, ...members };
}

const errorOf = (given: FeedValue, rules = v3) => {
  const outcome = checkFeedValue(given, rules);
  return 'errorType' in outcome ? `${outcome.kind} ${outcome.errorType}` : outcome.kind;
};

describe('a scalar', () => {
  test('takes the JSON values of its type, digit for digit', () => {
    fc.assert(
      fc.property(version, sample, noAction, (rules, { type, json, stored }, none) => {
        expect(checkFeedValue(value(type, json, none), rules)).toEqual({
          kind: 'value',
          attributeId: attributes.get(type)!.id,
          valueType: type,
          customerId: 'u1',
          customerType: 'user_id',
          action: 'set',
          value: stored,
        });
      }),
    );
  });

  test('is removed by null, whatever the action', () => {
    fc.assert(
      fc.property(version, scalar, action, (rules, type, action_type) => {
        expect(checkFeedValue(value(type, 'null', { action_type }), rules)).toMatchObject({
          action: 'remove',
          value: null,
        });
      }),
    );
  });

  test('is upserted by v2 whatever the action is', () => {
    fc.assert(
      fc.property(sample, fc.oneof(action, fc.string(), fc.integer()), ({ type, json, stored }, action_type) => {
        expect(checkFeedValue(value(type, json, { action_type }), v2)).toMatchObject({ action: 'set', value: stored });
      }),
    );
  });

  test('is replaced by v3 under ADD, UPSERT and REMOVE, removed under DEL whatever the value, refused under any other', () => {
    fc.assert(
      fc.property(
        sample,
        action,
        fc.option(fc.json(), { nil: undefined }),
        ({ type, json, stored }, action_type, other) => {
          const isRemoved = action_type === 'DEL';
          expect(checkFeedValue(value(type, isRemoved ? other : json, { action_type }), v3)).toMatchObject(
            isRemoved ? { action: 'remove', value: null } : { action: 'set', value: stored },
          );
          expect(errorOf(value(type, json, { action_type: `${action_type}!` }))).toBe('failed INVALID_ACTION');
          expect(errorOf(value(type, json, { action_type: 1 }))).toBe('failed INVALID_ACTION');
        },
      ),
    );
  });

  test('refuses other JSON types, and what its own type refuses', () => {
    const refused: [type: string, json: string, error: string][] = [
      ['String', '12', 'INVALID_VALUE'],
      ['String', 'true', 'INVALID_VALUE'],
      ['String', '""', 'EMPTY_VALUE'],
      ['String', JSON.stringify('x'.repeat(257)), 'TOO_LONG_VALUE'],
      ['String', '["x"]', 'INVALID_VALUE'],
      ['Number', 'true', 'INVALID_VALUE'],
      ['Number', '9223372036854775808', 'INVALID_VALUE'],
      ['Number', '"many"', 'INVALID_VALUE'],
      ['Boolean', '1', 'INVALID_VALUE'],
      ['Boolean', '"yes"', 'INVALID_VALUE'],
      ['Date', '20240229', 'INVALID_VALUE'],
      ['Date', '"2023-02-29"', 'INVALID_VALUE'],
      ['Datetime', '1700000000', 'INVALID_VALUE'],
      ['Number', '{}', 'INVALID_VALUE'],
    ];
    for (const [type, json, error] of refused)
      expect([type, json, errorOf(value(type, json))]).toEqual([type, json, `failed ${error}`]);
    expect(errorOf(value('String', undefined))).toBe('failed EMPTY_VALUE');
  });
});

describe('a Set', () => {
  const element = fc.string({ minLength: 1, maxLength: 256, unit: 'grapheme-ascii' });

  test('takes one element as it stands by ADD and REMOVE, in both versions', () => {
    fc.assert(
      fc.property(version, fc.constantFrom('ADD', 'REMOVE'), element, (rules, action_type, text) => {
        expect(checkFeedValue(value('Set', JSON.stringify(text), { action_type }), rules)).toMatchObject({
          kind: 'set',
          action: action_type,
          elements: [text],
        });
      }),
    );
  });

  test('is replaced by what stands between the separators of UPSERT', () => {
    const some = fc.uniqueArray(
      fc.string({ minLength: 1, maxLength: 9 }).filter((text) => !text.includes(';')),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(version, some, (rules, elements) => {
        expect(
          checkFeedValue(value('Set', JSON.stringify(elements.join(';')), { action_type: 'UPSERT' }), rules),
        ).toMatchObject({ kind: 'set', action: 'UPSERT', elements });
      }),
    );
  });

  test('is emptied by DEL, whatever the value, and by null, also without an action', () => {
    fc.assert(
      fc.property(version, fc.option(fc.json(), { nil: undefined }), fc.option(action), (rules, json, action_type) => {
        const emptied = { kind: 'set', action: 'DEL', elements: [] };
        expect(checkFeedValue(value('Set', json, { action_type: 'DEL' }), rules)).toMatchObject(emptied);
        expect(checkFeedValue(value('Set', 'null', { action_type }), rules)).toMatchObject(emptied);
      }),
    );
  });

  test('needs an action that there is', () => {
    fc.assert(
      fc.property(version, noAction, (rules, none) => {
        expect(errorOf(value('Set', '"a"', none), rules)).toBe('failed INVALID_ACTION');
        expect(errorOf(value('Set', '"a"', { action_type: 'add' }), rules)).toBe('failed INVALID_ACTION');
      }),
    );
  });

  test('refuses elements that are none', () => {
    const refused: [json: string, action: string, error: string][] = [
      ['""', 'ADD', 'EMPTY_VALUE'],
      ['";;"', 'UPSERT', 'EMPTY_VALUE'],
      ['12', 'ADD', 'INVALID_VALUE'],
      ['["a"]', 'UPSERT', 'INVALID_VALUE'],
      [JSON.stringify('x'.repeat(257)), 'ADD', 'TOO_LONG_VALUE'],
      [JSON.stringify(`a;${'x'.repeat(257)}`), 'UPSERT', 'TOO_LONG_VALUE'],
      [JSON.stringify(Array.from({ length: 1001 }, (_, number) => number).join(';')), 'UPSERT', 'TOO_LONG_SET_SIZE'],
    ];
    for (const [json, action_type, error] of refused)
      expect(errorOf(value('Set', json, { action_type }))).toBe(`failed ${error}`);
    expect(errorOf(value('Set', undefined, { action_type: 'ADD' }))).toBe('failed EMPTY_VALUE');
  });
});

describe('whom and what a value is about', () => {
  test('is refused by name where it is missing or no text', () => {
    const faults: [members: object, error: string][] = [
      [{ customer_id: undefined }, 'failed INVALID_CUSTOMER_ID'],
      [{ customer_id: null }, 'failed INVALID_CUSTOMER_ID'],
      [{ customer_id: parseExactJson('12') }, 'failed INVALID_CUSTOMER_ID'],
      [{ customer_id: '' }, 'failed INVALID_CUSTOMER_ID'],
      [{ customer_id: 'a\n' }, 'failed INVALID_CUSTOMER_ID'],
      [{ customer_id_type: 'email' }, 'failed UNKNOWN_TYPE'],
      [{ customer_id_type: 1, attribute_key: '' }, 'failed UNKNOWN_TYPE'],
      [{ attribute_key: undefined }, 'failed EMPTY_KEY'],
      [{ attribute_key: '' }, 'failed EMPTY_KEY'],
      [{ attribute_key: ['a'] }, 'failed PARSING_FAILED'],
      [{ attribute_key: 'x'.repeat(257) }, 'failed TOO_LONG_KEY'],
      [{ attribute_key: 'other' }, 'ignored UNDEFINED_ATTRIBUTE'],
      [{ attribute_key: 'Gone' }, 'failed DISABLED_ATTRIBUTE'],
    ];
    for (const [members, error] of faults) expect(errorOf(value('String', '"x"', members))).toBe(error);
    expect(errorOf(value('String', '"x"'), { ...v3, sorDisabled: true })).toBe('failed DISABLED_ATTRIBUTE');
    expect(errorOf(value('String', '"x"'), { ...v3, sorDeleted: true })).toBe('failed EMPTY_SOR');
  });

  test('may be a device', () => {
    expect(checkFeedValue(value('String', '"x"', { customer_id_type: 'device_id' }), v2)).toMatchObject({
      customerType: 'device_id',
    });
    expect(checkFeedValue(value('String', '"x"', { customer_id_type: null }), v2)).toMatchObject({
      customerType: 'user_id',
    });
  });
});

test('anything that JSON can hold is either a change or an error that is known', () => {
  const member = fc.option(fc.oneof(fc.json().map(parseExactJson), fc.constantFrom(...attributes.keys()), action), {
    nil: undefined,
  });
  const given = fc.record({
    customer_id: member,
    attribute_key: member,
    attribute_value: member,
    action_type: member,
    customer_id_type: member,
  });
  fc.assert(
    fc.property(given, version, (anything, rules) => {
      const outcome = checkFeedValue(anything, rules);
      if ('errorType' in outcome) expect(IMPORT_ERROR_TYPES).toContain(outcome.errorType);
      else expect(['value', 'set']).toContain(outcome.kind);
    }),
    { numRuns: sampledRuns(1_000) },
  );
});

test('a text does what it does as a row of a file', () => {
  fc.assert(
    fc.property(fc.constantFrom(...attributes.keys()), fc.string(), action, (key, text, action_type) => {
      fc.pre(key !== 'Set' || action_type === 'UPSERT');
      const row = checkRow(['u1', key, text, action_type], {
        ...v3,
        version: 'v3',
        columns: 4,
        hasErrorColumns: false,
      });
      expect(checkFeedValue({ customer_id: 'u1', attribute_key: key, attribute_value: text, action_type }, v3)).toEqual(
        row,
      );
    }),
  );
});
