import { idsOfType } from '../../gdpr/people-keys.ts';
import type { KnownBy, PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { countLogged, eraseFromChangeLog, listLogged } from '../attribute-change-log.ts';

export const attributeChangeLog: PersonalDataLocation = {
  name: 'attribute_change_log',
  columns: ['customer_type', 'customer_ids', 'received_at', 'committed_at'],
  otherColumns: ['entity_id', 'id', 'sor_id', 'pending'],
  holds: 'whose values changed and when, for 40 days',
  foundBy: 'customer type and id, through all entries of the entity',
  erasedBy: 'replacing the ids with NULL',
  count: ({ db }, entityId, people) => countLogged(db, entityId, idsByType(people)),
  export: ({ db }, entityId, people) => listLogged(db, entityId, idsByType(people)),
  erase: ({ db, tally }, entityId, people) => eraseFromChangeLog(db, entityId, idsByType(people), tally),
};

function idsByType(people: KnownBy[]): [users: string[], devices: string[], wholeDevices: string[]] {
  return [idsOfType(people, 'user_id'), idsOfType(people, 'device_id'), idsOfType(people, 'whole_device')];
}
