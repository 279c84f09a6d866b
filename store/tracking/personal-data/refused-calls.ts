import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { hashOfNamed, namedIn } from '../../gdpr/personal-data/named-in.ts';
import { hasSubject, textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

const HAS_SUBJECT = hasSubject('subjects');
const TEXTS = ['raw', 'message', 'message_id'];

export const refusedCalls: PersonalDataLocation = {
  name: 'refused_calls',
  columns: ['message_id', 'message_hash', 'message', 'raw', 'customer_hash', 'subjects'],
  otherColumns: ['entity_id', 'id', 'received_at', 'app_id', 'index', 'code'],
  holds: 'a refused call, and the reason, for 30 days',
  foundBy: 'the type and id that the call gives itself; the id within the texts',
  erasedBy: 'emptying these columns; the rows stay, since counts depend on them',
  ...textsOfPeople({
    table: 'refused_calls',
    writtenAt: 'received_at',
    keys: { received_at: 'timestamptz', id: 'bigint' },
    text: `concat_ws(E'\\n', ${TEXTS.join(', ')})`,
    subjects: 'subjects',
    naming: `${HAS_SUBJECT} OR ${TEXTS.map(namedIn).join(' OR ')}`,
    within: '(SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = refused_calls.app_id)',
    // The rows stay, since counts rest on them.
    change: `UPDATE refused_calls SET raw = NULL, message = '${ERASED}', subjects = NULL,
      customer_hash = ${hashOfNamed(TEXTS, `left(named.type, 1) || named.id = ANY (subjects)`)},
      message_id = CASE WHEN ${namedIn('message_id')} THEN NULL ELSE message_id END,
      message_hash = CASE WHEN ${namedIn('message_id')} THEN NULL ELSE message_hash END`,
  }),
};
