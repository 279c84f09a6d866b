import { closest, distance } from 'fastest-levenshtein';

/**
 * Comparing two names costs the product of their lengths, and a body may hold thousands: longer ones are not compared.
 */
const COMPARED_CHARS = 64;
/** Nor are more names than these. */
const COMPARED_NAMES = 500;
const SHOWN_NAMES = 100;

/** Says that a name is none of the known ones. */
export function sayUnknown(name: string, known: readonly string[]): string {
  const others = known.length > SHOWN_NAMES ? ` and ${known.length - SHOWN_NAMES} more` : '';
  return `is unknown${didYouMean(name, known)} There are ${known.slice(0, SHOWN_NAMES).join(', ')}${others}`;
}

/** The end of a sentence about a name that is none of the known ones. */
export function didYouMean(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? '.' : `: did you mean ${nearest}?`;
}

/** The known name that is the most like this one; null where it would cost much to find. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const compared = known.slice(0, COMPARED_NAMES).filter(({ length }) => length <= COMPARED_CHARS);
  return name.length > COMPARED_CHARS || compared.length === 0 ? null : closest(name, compared);
}

/** Letters by which a name may differ from the one that was meant. */
const MISSPELT_LETTERS = 2;
/**
 * One of so many letters of a name at most: among short names most are near each other, and none is another one
 * misspelt.
 */
const LETTERS_PER_FAULT = 3;

/** The known name of which this one is probably a misspelling; null if there is none. */
export function misspeltName(name: string, known: readonly string[]): string | null {
  const nearest = nearestName(name, known);
  if (nearest === null || nearest === name) return null;
  const faults = distance(name, nearest);
  const isNear = faults <= MISSPELT_LETTERS && faults * LETTERS_PER_FAULT <= Math.max(name.length, nearest.length);
  return isNear ? nearest : null;
}
