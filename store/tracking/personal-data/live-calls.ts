import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { hasSubject, textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

const TEXTS = ['call', 'message', 'message_id'];

export const liveCalls: PersonalDataLocation = {
  name: 'live_calls',
  columns: ['message', 'message_id', 'call', 'subjects'],
  otherColumns: ['entity_id', 'id', 'app_id', 'received_at', 'outcome', 'code'],
  holds: 'the last 100 calls of an app, shortened, for an hour',
  foundBy: 'the type and id that the call gives itself; the id within the texts',
  erasedBy: 'deletion',
  ...textsOfPeople({
    table: 'live_calls',
    writtenAt: 'received_at',
    keys: { id: 'bigint' },
    text: `concat_ws(E'\\n', ${TEXTS.join(', ')})`,
    subjects: 'subjects',
    naming: [hasSubject("coalesce(subjects, '{}')"), ...TEXTS.map((text) => namedIn(`coalesce(${text}, '')`))].join(
      ' OR ',
    ),
    within: '(SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = live_calls.app_id)',
    change: 'DELETE FROM live_calls',
  }),
};
