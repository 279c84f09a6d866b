import type { PersonalDataPlace } from './place.ts';
import { byDevice, byUser, rowsOfPeople } from './rows-of-people.ts';

/** By privacy_requests_by_user and privacy_requests_by_device. */
export const privacyRequests: PersonalDataPlace = {
  name: 'privacy_requests',
  columns: ['request_type', 'device_id', 'user_id', 'received_at'],
  otherColumns: ['entity_id', 'id', 'identifier', 'app_id'],
  foundBy: 'user_id; device_id, where there is no user_id',
  ...rowsOfPeople({
    table: 'privacy_requests',
    keys: { id: 'integer' },
    found: `${byUser('id', 'privacy_requests', 'user_id = p.id')}
      UNION ${byDevice('id', 'privacy_requests', 'device_id = p.id AND user_id IS NULL')}`,
    shown: 'r.identifier, r.request_type, r.device_id, r.user_id, r.received_at',
  }),
};
