/** JSON values as texts, including those of `parseExactJson`. */

import { numberText } from '../json/exact-json.ts';
import { storable } from '../text/text-limits.ts';
import type { ScalarType } from './attribute-value.ts';

/** Returns a text or a number as text, for a customer id or a key; undefined for any other value. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

/** Returns a scalar as a CSV field has it; undefined for a JSON type that the attribute refuses. */
export function scalarText(type: ScalarType, value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (type === 'Number') return numberText(value);
  return type === 'Boolean' && typeof value === 'boolean' ? String(value) : undefined;
}

export function elementText(value: unknown): string | undefined {
  return textOf(value) ?? scalarText('Boolean', value);
}

export function sayType(value: unknown): string {
  if (value === null) return 'null';
  if (numberText(value) !== undefined) return 'a number';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Returns JSON.stringify's text; undefined for a value nested deeper than the stack, which JSON.parse allows. */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Returns the same JSON without NUL and halves of surrogate pairs, which Postgres cannot store. */
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [storable(name), storableJson(member)]));
}
