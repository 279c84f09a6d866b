import type { CustomerType } from '../attributes/customer-id.ts';
import { parseExactJson } from '../json/exact-json.ts';
import { fieldOf, type LocationWords } from './personal-data-words.ts';

/** Needed to show a record: the apps of the entity by our numbers, and every id of the person, by its type. */
export type ShownWith = {
  apps: ReadonlyMap<number, { identifier: string; name: string }>;
  ids: Record<CustomerType, ReadonlySet<string>>;
};

/** In the place of an id that is somebody else's. */
const ANOTHER = 'another person';

/**
 * A record of a location as an archive's files have it: apps by identifier and name, numbers digit for digit, no id of
 * another person.
 */
export function archiveRecord(
  words: LocationWords,
  record: Record<string, unknown>,
  shownWith: ShownWith,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) => {
      const kind = value === null ? undefined : fieldOf(words, name)?.kind;
      if (kind === 'app') {
        const app = shownWith.apps.get(value as number);
        return [
          [name, app?.identifier ?? null],
          ['app_name', app?.name ?? null],
        ];
      }
      if (kind === 'person')
        return [[name, shownWith.ids[name === 'device_id' ? name : 'user_id'].has(String(value)) ? value : ANOTHER]];
      return [[name, kind === 'json' ? exact(value) : value]];
    }),
  );
}

/** The other user whose record it is: an archive of all that a device has sent names the users who sent it. */
export function otherUserIn(record: Record<string, unknown>, { ids }: ShownWith): string | null {
  const userId = record['user_id'];
  return typeof userId === 'string' && userId !== ANOTHER && !ids.user_id.has(userId) ? userId : null;
}

/** What isn't JSON (the number NaN) stays a text. */
function exact(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseExactJson(value);
  } catch {
    return value;
  }
}
