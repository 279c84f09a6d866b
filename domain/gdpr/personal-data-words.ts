import type { FieldKind, LocationWords } from './location-words.ts';
import { APP_WORDS } from './words-of-apps.ts';
import { REQUEST_WORDS } from './words-of-requests.ts';
import { SYNC_WORDS } from './words-of-syncs.ts';
import { VALUE_WORDS } from './words-of-values.ts';

export type { FieldKind, LocationWords };

/** By the name of the location. */
const WORDS: ReadonlyMap<string, LocationWords> = new Map(
  Object.entries<LocationWords>({ ...VALUE_WORDS, ...APP_WORDS, ...SYNC_WORDS, ...REQUEST_WORDS }));

/** What is said about a location; of one without words its name, so that its data is shown all the same. */
export function locationWords(location: string): LocationWords {
  return WORDS.get(location) ?? { title: location, about: '', fields: {} };
}

/** What a field means; undefined where nobody wrote words for it. */
export function fieldWords({ fields, others }: LocationWords, name: string): string | undefined {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return (typeof field === 'object' ? field.means : field) ?? others;
}

/** How it is shown; undefined: as it is. */
export function fieldKind({ fields }: LocationWords, name: string): FieldKind | undefined {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof field === 'object' ? field.kind : undefined;
}
