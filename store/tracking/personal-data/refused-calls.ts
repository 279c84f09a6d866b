import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { hashOfNamed, namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

const TEXTS = ['raw', 'message', 'message_id'];

export const refusedCalls: PersonalDataLocation = {
  name: 'refused_calls',
  columns: ['message_id', 'message_hash', 'message', 'raw', 'customer_hash'],
  otherColumns: ['entity_id', 'id', 'received_at', 'app_id', 'index', 'code'],
  holds: 'a refused call, and the reason, for 30 days',
  foundBy: 'the id within them',
  erasedBy: 'emptying these columns; the rows stay, since counts depend on them',
  ...textsOfPeople({
    table: 'refused_calls',
    keys: { received_at: 'timestamptz', id: 'bigint' },
    text: `concat_ws(E'\\n', ${TEXTS.join(', ')})`,
    naming: TEXTS.map(namedIn).join(' OR '),
    within: '(SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = refused_calls.app_id)',
    // The rows stay, since counts rest on them.
    change: `UPDATE refused_calls SET raw = NULL, message = '${ERASED}', customer_hash = ${hashOfNamed(TEXTS)},
      message_id = CASE WHEN ${namedIn('message_id')} THEN NULL ELSE message_id END,
      message_hash = CASE WHEN ${namedIn('message_id')} THEN NULL ELSE message_hash END`,
  }),
};
