import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { rowsOfPeople } from '../../gdpr/rows-of-people.ts';

const KEY = 'previous_id, user_id';

/**
 * By the primary key, user_aliases_by_user and user_aliases_by_device. That an SDK claims an earlier id makes no alias
 * from it to another user the person's.
 */
export const userAliases: PersonalDataLocation = {
  name: 'user_aliases',
  columns: ['previous_id', 'user_id', 'first_seen_at', 'device_id'],
  otherColumns: ['entity_id', 'app_id', 'witnessed', 'decision', 'decided_by', 'decided_at'],
  holds: 'the fact that an id became another, and which device said so',
  foundBy: 'either id; the device',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'user_aliases',
    keys: { previous_id: 'text', user_id: 'text' },
    found: `SELECT ${KEY} FROM user_aliases
        WHERE entity_id = $1 AND previous_id = ANY ($2) AND (previous_id = ANY ($5) OR user_id = ANY ($2))
      UNION SELECT ${KEY} FROM user_aliases WHERE entity_id = $1 AND user_id = ANY ($2)
      UNION SELECT ${KEY} FROM user_aliases WHERE entity_id = $1 AND device_id = ANY ($3)`,
    shown: 'r.previous_id, r.user_id, r.first_seen_at, r.app_id, r.device_id',
  }),
};
