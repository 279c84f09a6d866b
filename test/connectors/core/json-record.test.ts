import { expect, it } from 'vitest';
import { recordItem } from '../../../connectors/core/json-record.ts';
import { parseExactJson } from '../../../domain/json/exact-json.ts';

const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
const read = (text: string) => recordItem(parseExactJson(text), text);

it('a record keeps the digits of its numbers, at any depth', () => {
  const record = { id: '12345678901234567890', price: 1.5, more: [{ rate: '0.1234567890123456789' }] };
  expect(read('{"id":12345678901234567890,"price":1.50,"more":[{"rate":0.1234567890123456789}]}')).toEqual({
    kind: 'record',
    record,
  });
});

it.for(['[1]', 'null', '"text"', '7', '12345678901234567890'])('%s is no record', (text) => {
  expect(read(text)).toEqual({ kind: 'malformed', raw: text, message: 'a record is not a JSON object' });
});

const WITH_PROTO = ['{"__proto__":1}', '{"a":[{"\\u005f_proto__":{}}],"n":1.50}'];

it.for(WITH_PROTO)('a record with a member named __proto__ is refused by name: %s', (text) => {
  expect(read(text)).toEqual({ kind: 'malformed', raw: text, message: 'a record has a member named __proto__' });
});

it('a record has at most 100 levels', () => {
  expect(read(nested(100))).toMatchObject({ kind: 'record' });
  expect(read(nested(101))).toMatchObject({
    kind: 'malformed',
    message: 'a record has arrays or objects more than 100 deep',
  });
});
