import { type Field, type LocationWords, type Topic, TOPICS } from './location-words.ts';
import { APP_WORDS, MESSAGE_WORDS } from './words-of-apps.ts';
import { REQUEST_WORDS } from './words-of-requests.ts';
import { SYNC_WORDS, VALUE_WORDS } from './words-of-values.ts';

export { type LocationWords, type Topic, TOPICS };

const WORDS: ReadonlyMap<string, LocationWords> = new Map(
  Object.entries<LocationWords>({ ...VALUE_WORDS, ...APP_WORDS, ...MESSAGE_WORDS, ...SYNC_WORDS, ...REQUEST_WORDS }),
);

/** Returns the words for a location. One without words has its name, so that its data is shown. */
export function locationWords(location: string): LocationWords {
  return WORDS.get(location) ?? { title: location, topic: 'origin', about: '', fields: {} };
}

export function fieldOf({ fields }: LocationWords, name: string): Field | undefined {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof field === 'string' ? { label: field } : field;
}

export function fieldLabel(words: LocationWords, name: string): string {
  return fieldOf(words, name)?.label ?? name;
}
