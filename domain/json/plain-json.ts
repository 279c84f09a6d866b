/** Values of `parseExactJson` as JSON for Postgres and for the wire. */
import { numberText } from './exact-json.ts';
import { isKeptByDouble } from '../text/number-value.ts';
import { storable } from '../text/text-limits.ts';

/** A JSON value; a number that a double would round is a text. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** Returns JSON for Postgres, without NUL and halves of surrogate pairs. Nesting must be checked by `mostJsonBytes`. */
export function plainJson(value: unknown): Json {
  if (typeof value === 'string') return storable(value);
  if (typeof value === 'number') return value + 0; // -0 is 0; it was read exactly
  if (typeof value !== 'object' || value === null) return (value ?? null) as Json;
  const digits = numberText(value);
  if (digits !== undefined) return isKeptByDouble(digits) ? Number(digits) + 0 : digits; // -0 is 0
  if (Array.isArray(value)) return value.map(plainJson);
  const plain: { [name: string]: Json } = {};
  for (const [name, member] of Object.entries(value)) plain[storable(name)] = plainJson(member);
  return plain;
}

export function withRoundedAsText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const digits = numberText(value);
  if (digits !== undefined) return isKeptByDouble(digits) ? Number(digits) : digits;
  if (Array.isArray(value)) return value.map(withRoundedAsText);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withRoundedAsText(member)]));
}

const NUMBER_BYTES = 25;
const ESCAPE_BYTES = 6;

/** Returns a cheap upper bound of a value's JSON; Infinity beyond `levels`, NaN with a `__proto__` member. */
export function mostJsonBytes(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length * ESCAPE_BYTES + 2;
  if (typeof value !== 'object' || value === null) return NUMBER_BYTES;
  const digits = numberText(value);
  if (digits !== undefined) return digits.length;
  if (levels === 0) return Infinity;
  let bytes = 2;
  for (const name of Object.keys(value)) {
    if (name === '__proto__') return Number.NaN;
    bytes +=
      name.length * ESCAPE_BYTES + '"":,'.length + mostJsonBytes((value as Record<string, unknown>)[name], levels - 1);
  }
  return bytes;
}
