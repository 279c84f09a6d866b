import { closest, distance } from 'fastest-levenshtein';

/** Maximum length of names that are compared: a comparison costs the product of two lengths. */
const COMPARED_CHARS = 64;
const COMPARED_NAMES = 500;
const SHOWN_NAMES = 100;

export function sayUnknown(name: string, known: readonly string[]): string {
  const others = known.length > SHOWN_NAMES ? ` and ${known.length - SHOWN_NAMES} more` : '';
  return `is unknown${didYouMean(name, known)} There are ${known.slice(0, SHOWN_NAMES).join(', ')}${others}`;
}

export function didYouMean(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? '.' : `: did you mean ${nearest}?`;
}

/** Returns the most similar known name; null if comparing would cost too much. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const compared = known.slice(0, COMPARED_NAMES).filter(({ length }) => length <= COMPARED_CHARS);
  return name.length > COMPARED_CHARS || compared.length === 0 ? null : closest(name, compared);
}

const MISSPELT_LETTERS = 2;
/** Letters of a name for each misspelled one. Short names are all similar, so few of them are misspellings. */
const LETTERS_PER_FAULT = 3;

export function misspeltName(name: string, known: readonly string[]): string | null {
  const nearest = nearestName(name, known);
  if (nearest === null || nearest === name) return null;
  const faults = distance(name, nearest);
  const isNear = faults <= MISSPELT_LETTERS && faults * LETTERS_PER_FAULT <= Math.max(name.length, nearest.length);
  return isNear ? nearest : null;
}
