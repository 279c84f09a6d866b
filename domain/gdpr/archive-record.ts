/** Records of a location as an archive shows them: apps by name, exact numbers, no id of another person. */
import type { CustomerType } from '../attributes/customer-id.ts';
import { parseExactJson } from '../json/exact-json.ts';
import { fieldOf, type LocationWords } from './personal-data-words.ts';

/** Context for showing a record: the entity's apps by their internal ids, and every id of the person, by type. */
export type ShownWith = {
  apps: ReadonlyMap<number, { identifier: string; name: string }>;
  ids: Record<CustomerType, ReadonlySet<string>>;
};

const ANOTHER = 'another person';

/** Returns a record as an archive shows it, and another user in it; null if there is none. */
export function archiveRecord(
  words: LocationWords,
  record: Record<string, unknown>,
  shownWith: ShownWith,
): { shown: Record<string, unknown>; otherUser: string | null } {
  const shown = shownMembers(words, record, shownWith);
  return { shown, otherUser: otherUserIn(shown, shownWith) };
}

function shownMembers(
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

/** Returns the other user of a record: an archive of a device names the users who sent the records. */
function otherUserIn(record: Record<string, unknown>, { ids }: ShownWith): string | null {
  const userId = record['user_id'];
  return typeof userId === 'string' && userId !== ANOTHER && !ids.user_id.has(userId) ? userId : null;
}

/** A value that is not JSON (the number NaN) stays a text. */
function exact(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseExactJson(value);
  } catch {
    return value;
  }
}
