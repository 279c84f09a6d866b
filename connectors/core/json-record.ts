import { isObject, numberText } from '../../domain/json/exact-json.ts';
import { isKeptByDouble } from '../../domain/text/number-value.ts';
import type { Json, ReadItem, SourceRecord } from './contract.ts';
import { malformed } from './malformed.ts';

/**
 * Levels of arrays and objects in a record, with the record's own: deeper ones could overflow the stack of what writes
 * them.
 */
export const MAX_RECORD_NESTING = 100;
/**
 * The same in whatever else comes from outside: catalogs, where a level of a record takes two of its schema, states,
 * answers.
 */
export const MAX_OUTSIDE_NESTING = 500;

/**
 * Returns the record that a value of `parseExactJson` is, made in place: a number that a double would round becomes its
 * text. A string is why it is none, to be put behind what names it. A member named `__proto__` is refused by name, at
 * any depth: as a field it would be lost in many a program behind us.
 */
export function jsonRecord(value: unknown): SourceRecord | string {
  if (!isObject(value)) return 'is not a JSON object';
  const json = toJson(value, 1);
  if (json === TOO_DEEP) return sayDepth(MAX_RECORD_NESTING);
  return json === HAS_PROTO ? 'has a member named __proto__' : (json as SourceRecord);
}

/** The same as an item of a batch; `raw` is what is shown of it where it is no record. */
export function recordItem(value: unknown, raw: Buffer | string): ReadItem {
  const record = jsonRecord(value);
  return typeof record === 'string' ? malformed(raw, `a record ${record}`) : { kind: 'record', record };
}

/** What is wrong with JSON that has more levels, to be put behind what names it. */
export const sayDepth = (levels: number) => `has arrays or objects more than ${levels} deep`;

const TOO_DEEP = Symbol('too deep');
const HAS_PROTO = Symbol('has a member named __proto__');

function toJson(value: unknown, depth: number): Json | typeof TOO_DEEP | typeof HAS_PROTO {
  if (typeof value !== 'object' || value === null) return value as Json;
  const text = numberText(value);
  if (text !== undefined) return isKeptByDouble(text) ? Number(text) : text;
  if (depth > MAX_RECORD_NESTING) return TOO_DEEP;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    if (name === '__proto__') return HAS_PROTO;
    const json = toJson(members[name], depth + 1);
    if (typeof json === 'symbol') return json;
    members[name] = json;
  }
  return members as Json;
}
