import { closest } from 'fastest-levenshtein';
import { refuse } from '../../domain/core/refusal.ts';

type Named = { identifier: string; name: string };

export function nearestOf(given: string, names: readonly string[]): string {
  return names.length === 0 ? ': there is none yet.' : `: did you mean ${closest(given, names)}?`;
}

/** Refuses a name or identifier that none of these has. */
export function refuseUnknown(status: string, word: string, given: string, all: readonly Named[]): never {
  const nearest = nearestOf(
    given,
    all.map(({ name }) => name),
  );
  return refuse(404, status, `There is no ${word} ${given}${nearest}`);
}

/** Returns the item with this identifier or name, or an error in `words` for one and for several. */
export function resolveNamed<T extends Named>(
  all: readonly T[],
  given: string,
  [word, words]: readonly [string, string],
): { found: T } | { error: string } {
  const known = all.find(({ identifier }) => identifier === given);
  const named = known ? [known] : all.filter(({ name }) => name === given);
  if (named.length === 1) return { found: named[0]! };
  if (named.length === 0)
    return {
      error: `${given} is no ${word}${nearestOf(
        given,
        all.map(({ name }) => name),
      )}`,
    };
  const identifiers = named.map(({ identifier }) => identifier).join(', ');
  return { error: `${given} is the name of ${named.length} ${words}: write which of ${identifiers}` };
}
