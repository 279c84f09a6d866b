import type { PersonalDataPlace } from './place.ts';
import { rowsOfPeople } from './rows-of-people.ts';

/** By privacy_requests_by_user and privacy_requests_by_device. */
export const privacyRequests: PersonalDataPlace = {
  name: 'privacy_requests',
  columns: ['request_type', 'device_id', 'user_id', 'received_at'],
  otherColumns: ['entity_id', 'id', 'identifier', 'app_id'],
  foundBy: 'user_id; device_id, where there is no user_id',
  ...rowsOfPeople({
    table: 'privacy_requests',
    keys: { id: 'integer' },
    found: `SELECT id FROM privacy_requests WHERE entity_id = $1 AND user_id = ANY ($2)
      UNION ALL SELECT id FROM privacy_requests WHERE entity_id = $1 AND device_id = ANY ($3) AND user_id IS NULL`,
    shown: 'r.identifier, r.request_type, r.device_id, r.user_id, r.received_at',
  }),
};
