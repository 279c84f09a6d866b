import { expect, it } from 'vitest';
import type { ValueType } from '../../../domain/attributes/attribute-value.ts';
import { inferValueType } from '../../../domain/attributes/infer-value-type.ts';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import { traitValues } from '../../../domain/tracking/call-traits.ts';

it.each<[unknown, ValueType | null]>([
  [true, 'Boolean'],
  [0, 'Number'],
  [parseExactJson('12345678901234567890'), 'Number'],
  ['2024-02-29', 'Date'],
  ['2023-02-29', 'String'],
  ['2024-02-29T10:00:00Z', 'Datetime'],
  ['2024-02-29 10:00', 'Datetime'],
  ['12', 'String'],
  ['true', 'String'],
  [['a'], 'Set'],
  [[], 'Set'],
  [' ', 'String'],
  ['', null],
  [null, null],
  [{ a: 1 }, null],
])('an attribute whose first value is %j is made as %s', (value, type) => {
  expect(inferValueType(value)).toBe(type);
});

const LONG = 'x'.repeat(1_500);
const MANY = Array.from({ length: 1_001 }, (_, at) => `a;${at}`);

it.each<[string, unknown, ValueType | null, [unknown, string?][]]>([
  ['a text as it is', 'a', 'String', [['a']]],
  ['null as removal', null, 'Set', [[null]]],
  ['a number as the text of it where the attribute is a String', 75_001, 'String', [['75001']]],
  ['a Boolean as the text of it where the attribute is a String', false, 'String', [['false']]],
  ['a number as it is where the attribute is a Number', 7, 'Number', [[7]]],
  ['a number as it is where there is no attribute', 7, null, [[7]]],
  ['an array as a whole Set', ['a', 2, true], 'Set', [['a;2;true', 'UPSERT']]],
  [
    'an array with the separator by its elements',
    ['a;b', '', 'c'],
    'Set',
    [
      [null, 'DEL'],
      ['a;b', 'ADD'],
      ['c', 'ADD'],
    ],
  ],
  ['an empty array as removal', [], 'Set', [[null]]],
  ['an array of nothing as removal', ['', ''], 'Set', [[null]]],
  ['an array with an element that is too long as this element alone', ['a;b', LONG], 'Set', [[LONG, 'ADD']]],
  ['an array with too many elements as it is, for the merge to refuse', MANY, 'Set', [[MANY, 'UPSERT']]],
  ['an array with the separator as it is where the attribute is a scalar', ['a;b'], 'String', [[['a;b'], 'UPSERT']]],
  ['an empty array as it is where the attribute is a scalar', [], 'Number', [[[]]]],
  ['a scalar as the only element of a Set', 'x', 'Set', [['x', 'UPSERT']]],
  [
    'a scalar with the separator as the only element of a Set',
    'x;y',
    'Set',
    [
      [null, 'DEL'],
      ['x;y', 'ADD'],
    ],
  ],
  ['an object as it is, for the merge to refuse', { a: 1 }, 'String', [[{ a: 1 }]]],
  ['an array with an object as it is, for the merge to refuse', [{ a: 1 }], 'Set', [[[{ a: 1 }], 'UPSERT']]],
])('a trait is fed: %s', (_, value, type, fed) => {
  const who = { customer_id: 'ada', customer_id_type: 'user_id', attribute_key: 'key' };
  expect(traitValues({ customerId: 'ada', customerType: 'user_id' }, 'key', value, type)).toEqual(
    fed.map(([given, action]) => ({
      ...who,
      attribute_value: given,
      ...(action !== undefined && { action_type: action }),
    })),
  );
});
