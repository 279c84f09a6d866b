import { closest } from 'fastest-levenshtein';

/** Of a name that is none of the known ones, of which there is one at least. */
export function sayUnknown(name: string, known: string[]): string {
  return `is unknown: did you mean ${closest(name, known)}? There are ${known.join(', ')}`;
}
