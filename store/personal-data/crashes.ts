import { ERASED, namedIn } from './named-in.ts';
import type { PersonalDataPlace } from './place.ts';
import { textsOfPeople } from './texts-of-people.ts';

/** Crashes are nobody's, but a title may quote the message of one that happened to somebody. */
export const crashes: PersonalDataPlace = {
  name: 'crashes',
  columns: ['title'],
  otherColumns: ['entity_id', 'app_id', 'id', 'identifier', 'fingerprint', 'first_seen_at', 'last_seen_at', 'occurrences'],
  foundBy: 'the id in a title',
  ...textsOfPeople({
    table: 'crashes', keys: { id: 'integer' }, text: 'title', naming: namedIn('title'), within: 'identifier',
    change: `UPDATE crashes SET title = '${ERASED}'`,
  }),
};
