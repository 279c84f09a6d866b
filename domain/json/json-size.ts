/** Limits of the size of JSON values. */
import { numberText } from './exact-json.ts';

export const MAX_ELEMENTS = 20_000;

/** Returns what is wrong with the size of a JSON value, or null. Looks at `maxElements` elements at most. */
export function shapeError(
  value: unknown,
  { maxElements, maxNesting }: { maxElements: number; maxNesting: number },
): string | null {
  let [level, elements] = [[value], 0];
  for (let nesting = 0; level.length > 0; nesting += 1) {
    const inner: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      if (nesting === maxNesting) return sayNesting(maxNesting);
      const children: unknown[] = Array.isArray(each) ? each : Object.values(each);
      elements += children.length;
      if (elements > maxElements) return `must have at most ${maxElements} elements and members in all`;
      for (const child of children) inner.push(child);
    }
    level = inner;
  }
  return null;
}

/** Returns the bytes as Postgres writes jsonb: with spaces, and 309 digits for 1e308. Stops once they exceed `most`. */
export function storedBytes(value: unknown, most: number): number {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value));
  if (typeof value === 'number') return digitsOf(value);
  if (typeof value !== 'object' || value === null) return String(value).length;
  const digits = numberText(value);
  if (digits !== undefined) return digits.length;
  let bytes = 2;
  const isArray = Array.isArray(value);
  for (const [name, member] of Object.entries(value)) {
    if (bytes > most) return bytes;
    bytes += (isArray ? 2 : Buffer.byteLength(JSON.stringify(name)) + 4) + storedBytes(member, most - bytes);
  }
  return bytes === 2 ? 2 : bytes - 2;
}

function digitsOf(value: number): number {
  const [mantissa = '', exponent] = String(value).split('e');
  if (exponent === undefined) return mantissa.length;
  const [whole = '', fraction = ''] = mantissa.split('.');
  const places = Number(exponent);
  return places > 0 ? whole.length + places : whole.length + '0.'.length - places - 1 + fraction.length;
}

export function sayNesting(levels: number): string {
  return `must not nest deeper than ${levels} levels`;
}
