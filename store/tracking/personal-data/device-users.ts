import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { OF_ANY_APP, rowsOfPeople } from '../../gdpr/rows-of-people.ts';

const KEY = 'app_id, device_id, user_id';

/** By device_users_by_user. Who else used a device of theirs is not theirs, unless the device itself asks. */
export const deviceUsers: PersonalDataLocation = {
  name: 'device_users',
  // By who used a device these know whether it is a person's alone.
  after: ['devices', 'segment_members'],
  columns: ['device_id', 'user_id', 'last_seen_at'],
  otherColumns: ['entity_id', 'app_id'],
  holds: 'which user used which device',
  foundBy: 'user id',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'device_users',
    keys: { app_id: 'integer', device_id: 'text', user_id: 'text' },
    found: `SELECT ${KEY} FROM device_users WHERE entity_id = $1 AND user_id = ANY ($2)
      UNION SELECT ${KEY} FROM device_users WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($4)`,
    shown: 'r.app_id, r.device_id, r.user_id, r.last_seen_at',
  }),
};
