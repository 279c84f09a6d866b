import { numberText } from './exact-json.ts';
import type { Json } from './field-conversion.ts';
import { isKeptByDouble } from './number-value.ts';
import { storable } from './text-limits.ts';

/**
 * A value of `parseExactJson` as plain JSON that Postgres can store: a number that a double would round becomes its text,
 * and texts and names lose NUL and halves of surrogate pairs. It must not nest deeply: see `nestsDeeperThan`.
 */
export function plainJson(value: unknown): Json {
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || value === null) return (value ?? null) as Json;
  const digits = numberText(value);
  if (digits !== undefined) return isKeptByDouble(digits) ? Number(digits) + 0 : digits;          // -0 is 0
  if (Array.isArray(value)) return value.map(plainJson);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [storable(name), plainJson(member)]));
}

/** Whether arrays and objects nest deeper than so many levels; looks no deeper itself. */
export function nestsDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || numberText(value) !== undefined) return false;
  return levels === 0 || Object.values(value).some((member) => nestsDeeperThan(member, levels - 1));
}
