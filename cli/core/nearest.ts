import { closest } from 'fastest-levenshtein';

/** The end of a sentence about a name that is not there: which may have been meant. */
export function nearestOf(given: string, names: readonly string[]): string {
  return names.length === 0 ? ': there is none yet.' : `: did you mean ${closest(given, names)}?`;
}
