import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

/** Crashes are nobody's, but a title may quote the message of one that happened to somebody. */
export const crashes: PersonalDataLocation = {
  name: 'crashes',
  columns: ['title'],
  otherColumns: [
    'entity_id',
    'app_id',
    'id',
    'identifier',
    'fingerprint',
    'first_seen_at',
    'last_seen_at',
    'occurrences',
  ],
  holds: 'nothing, but a title may quote an error message',
  foundBy: 'the id within the title',
  erasedBy: 'replacing the title with `erased`; the crash stays',
  ...textsOfPeople({
    table: 'crashes',
    keys: { id: 'integer' },
    text: 'title',
    naming: namedIn('title'),
    within: 'identifier',
    change: `UPDATE crashes SET title = '${ERASED}'`,
  }),
};
