import { idsOfType } from '../../gdpr/people-keys.ts';
import type { KnownBy, PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import {
  countInPartitions,
  eraseFromPartitions,
  type PeopleOfPartitions,
} from '../../gdpr/personal-data/partitions-of-people.ts';
import { byUserOrDevice, rowsOfPeople } from '../../gdpr/rows-of-people.ts';

/** By events_by_user and events_by_device. */
export const events: PersonalDataLocation = {
  name: 'events',
  columns: ['happened_at', 'utc_offset', 'device_id', 'user_id', 'name', 'detail'],
  otherColumns: ['entity_id', 'app_id', 'received_at', 'id', 'session_id', 'crash_id', 'log_type'],
  holds: "what people did: when, on which device, the event's details",
  foundBy:
    'user id; device id if no user was named, or if [the device itself](gdpr.md#from-a-device) makes the ' + 'request',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'events',
    keys: { app_id: 'integer', happened_at: 'timestamptz', id: 'bigint' },
    found: byUserOrDevice('app_id, happened_at, id', 'events'),
    shown:
      'r.happened_at, r.utc_offset, r.app_id, r.session_id, r.device_id, r.user_id, r.log_type, r.name, r.detail::text AS detail',
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
  return { table: 'events', users, devices, wholeDevices, byDevice: 'device_id', time: 'happened_at' };
}
