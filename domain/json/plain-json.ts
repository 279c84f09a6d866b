import { numberText } from './exact-json.ts';
import { isKeptByDouble } from '../text/number-value.ts';
import { storable } from '../text/text-limits.ts';

/** A number that a double would round stands as its text. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/**
 * A value of `parseExactJson` as plain JSON that Postgres can store: a number that a double would round becomes its
 * text, and texts and names lose NUL and halves of surrogate pairs. It must not nest deeply: see `mostJsonBytes`.
 */
export function plainJson(value: unknown): Json {
  if (typeof value === 'string') return storable(value);
  if (typeof value === 'number') return value + 0; // -0 is 0; it was read digit for digit
  if (typeof value !== 'object' || value === null) return (value ?? null) as Json;
  const digits = numberText(value);
  if (digits !== undefined) return isKeptByDouble(digits) ? Number(digits) + 0 : digits; // -0 is 0
  if (Array.isArray(value)) return value.map(plainJson);
  const plain: { [name: string]: Json } = {};
  for (const [name, member] of Object.entries(value)) plain[storable(name)] = plainJson(member);
  return plain;
}

/**
 * A value of `parseExactJson` whose numbers are those of JSON.parse, but for those that a double would round: these
 * become their text.
 */
export function withRoundedAsText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const digits = numberText(value);
  if (digits !== undefined) return isKeptByDouble(digits) ? Number(digits) : digits;
  if (Array.isArray(value)) return value.map(withRoundedAsText);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withRoundedAsText(member)]));
}

/** A number of `parseExactJson` is no longer than this unless it is kept as its text. */
const NUMBER_BYTES = 25;
/** A character's escape: \u and four digits. */
const ESCAPE_BYTES = 6;

/**
 * How many bytes a value of `parseExactJson` has at most as JSON, which costs less to tell than how many it has;
 * infinite where arrays and objects nest deeper than so many levels, NaN if a member is named `__proto__`.
 */
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
