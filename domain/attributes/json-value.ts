import { numberText } from '../json/exact-json.ts';
import { storable } from '../text/text-limits.ts';
import type { ScalarType } from './attribute-value.ts';

/** What JSON values are as text, those of `parseExactJson` too. */

/** A customer or a key as text, where it is one or a number; a value that can't be read shows it all the same. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

/** As it would stand in a CSV field; undefined for a JSON type that the attribute doesn't take. */
export function scalarText(type: ScalarType, value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (type === 'Number') return numberText(value);
  return type === 'Boolean' && typeof value === 'boolean' ? String(value) : undefined;
}

/** The text of any scalar: of a text, a number or a Boolean. */
export function elementText(value: unknown): string | undefined {
  return textOf(value) ?? scalarText('Boolean', value);
}

export function sayType(value: unknown): string {
  if (value === null) return 'null';
  if (numberText(value) !== undefined) return 'a number';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** JSON.stringify; undefined where the value is nested deeper than the stack goes, which JSON.parse is not held by. */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The same JSON with texts and names that Postgres can store: without NUL and halves of surrogate pairs. */
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [storable(name), storableJson(member)]));
}
