import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { eraseWaitingValuesOf, listWaitingValuesOf } from '../feed-requests-of-people.ts';

export const feedRequests: PersonalDataLocation = {
  name: 'feed_requests',
  columns: ['body'],
  otherColumns: [
    'entity_id',
    'id',
    'identifier',
    'sor_id',
    'version',
    'received_at',
    'body_bytes',
    'values_in',
    'values_ok',
    'values_ignored',
    'values_failed',
    'done_at',
    'app_id',
    'said_at',
    'suspicious_ids',
  ],
  holds: 'the values of a JSON feed until Millrace has merged them; then the body is gone',
  foundBy: 'customer id and type of each value',
  erasedBy: 'replacing the value with the keyed hash; Millrace merges all others',
  // The merge refuses the person in what came later, and empties it.
  async count({ db, writtenBefore }, entityId, people) {
    return (await Array.fromAsync(listWaitingValuesOf(db, entityId, people, writtenBefore))).length;
  },
  export: ({ db }, entityId, people) => listWaitingValuesOf(db, entityId, people),
  erase: eraseWaitingValuesOf,
};
