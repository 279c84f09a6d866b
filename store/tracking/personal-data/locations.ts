import { idsOfType } from '../../gdpr/people-keys.ts';
import type { KnownBy, PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import {
  countInPartitions,
  eraseFromPartitions,
  type PeopleOfPartitions,
} from '../../gdpr/personal-data/partitions-of-people.ts';
import { byUserOrDevice, rowsOfPeople } from '../../gdpr/rows-of-people.ts';

/** By locations_by_user and locations_by_device. */
export const locations: PersonalDataLocation = {
  name: 'locations',
  columns: ['happened_at', 'latitude', 'longitude', 'device_id', 'user_id'],
  otherColumns: ['entity_id', 'app_id', 'received_at', 'id', 'session_id'],
  holds: 'where people were, and when',
  foundBy:
    'user id; device id if no user was named, or if [the device itself](gdpr.md#from-a-device) makes the ' + 'request',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'locations',
    keys: { app_id: 'integer', happened_at: 'timestamptz', id: 'bigint' },
    found: byUserOrDevice('app_id, happened_at, id', 'locations'),
    shown: 'r.happened_at, r.app_id, r.session_id, r.latitude, r.longitude, r.device_id, r.user_id',
  }),
  count: (deps, entityId, people) => countInPartitions(deps, entityId, of(people)),
  erase: (deps, entityId, people) => eraseFromPartitions(deps, entityId, of(people)),
};

function of(people: KnownBy[]): PeopleOfPartitions {
  const [users, devices, wholeDevices] = [
    idsOfType(people, 'user_id'),
    idsOfType(people, 'device_id'),
    idsOfType(people, 'whole_device'),
  ];
  return { table: 'locations', users, devices, wholeDevices, byDevice: 'device_id', time: 'happened_at' };
}
