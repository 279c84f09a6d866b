import { hashesOfUsers, rowIdsOf } from '../../gdpr/people-keys.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { changeFound, HASH_OF_USER, rowsOfPeople } from '../../gdpr/rows-of-people.ts';

const keys = { send_id: 'integer', ordinal: 'integer' } as const;
/** By send_messages_by_user. */
const FOUND = 'SELECT send_id, ordinal FROM send_messages WHERE entity_id = $1 AND user_id = ANY ($2)';

/** The messages stay, without their user and device: each has its result in the reports. */
export const sendMessages: PersonalDataLocation = {
  name: 'send_messages',
  columns: ['user_id', 'user_hash', 'vars'],
  otherColumns: ['entity_id', 'send_id', 'ordinal'],
  holds:
    "a message that was asked for, with the values of its placeholders, until Millrace looks at the user's " +
    'devices',
  foundBy: 'user id',
  erasedBy: 'replacing the id with a keyed hash, and emptying the values',
  ...rowsOfPeople({
    table: 'send_messages',
    keys,
    found: FOUND,
    shown: `r.user_id, r.vars::text AS vars,
      (SELECT s.received_at FROM sends s WHERE s.entity_id = $1 AND s.id = r.send_id) AS received_at`,
  }),
  erase: (deps, entityId, people) =>
    changeFound(
      deps,
      `UPDATE send_messages AS r SET user_id = NULL, user_hash = ${HASH_OF_USER}, vars = NULL FROM found`,
      { keys, found: FOUND },
      [...rowIdsOf(entityId, people), hashesOfUsers(deps.secrets, entityId, people)],
    ),
};
