import { closest } from 'fastest-levenshtein';

/** Comparing two names costs the product of their lengths, and a body may hold thousands: longer ones are not compared. */
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
