import { type Field, type LocationWords, type Topic, TOPICS } from './location-words.ts';
import { APP_WORDS } from './words-of-apps.ts';
import { MESSAGE_WORDS } from './words-of-messages.ts';
import { REQUEST_WORDS } from './words-of-requests.ts';
import { SYNC_WORDS } from './words-of-syncs.ts';
import { VALUE_WORDS } from './words-of-values.ts';

export { type LocationWords, type Topic, TOPICS };

/** By the name of the location. */
const WORDS: ReadonlyMap<string, LocationWords> = new Map(
  Object.entries<LocationWords>({ ...VALUE_WORDS, ...APP_WORDS, ...MESSAGE_WORDS, ...SYNC_WORDS, ...REQUEST_WORDS }),
);

/** What is said about a location; of one without words its name, so that its data is shown all the same. */
export function locationWords(location: string): LocationWords {
  return WORDS.get(location) ?? { title: location, topic: 'origin', about: '', fields: {} };
}

/** The words about a field; undefined: it has none. */
export function fieldOf({ fields }: LocationWords, name: string): Field | undefined {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof field === 'string' ? { label: field } : field;
}

/** The name that a person reads before a field's value; without words, the field's own name. */
export function fieldLabel(words: LocationWords, name: string): string {
  return fieldOf(words, name)?.label ?? name;
}
