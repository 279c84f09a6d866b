import { idsOfType } from '../../gdpr/people-keys.ts';
import type { KnownBy, PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import {
  countInPartitions,
  eraseFromPartitions,
  type PeopleOfPartitions,
} from '../../gdpr/personal-data/partitions-of-people.ts';
import { DEVICE_SUBJECTS, rowsOfPeople, WHOLE_SUBJECTS } from '../../gdpr/rows-of-people.ts';

const KEY = 'app_id, started_at, id';

/** By sessions_by_user and sessions_by_subject. */
export const sessions: PersonalDataLocation = {
  name: 'sessions',
  after: ['session_heads'],
  columns: [
    'started_at',
    'ended_at',
    'background_seconds',
    'utc_offset',
    'subject',
    'device_id',
    'user_id',
    'app_version',
    'sdk_version',
    'os_version',
    'device_type',
    'device_model',
    'idiom',
    'country',
    'lang',
    'carrier',
  ],
  otherColumns: ['entity_id', 'app_id', 'received_at', 'id', 'timeout'],
  holds: "when people used an app, on which device, and the device's country and language settings",
  foundBy:
    'user id; device id if no user was named, or if [the device itself](gdpr.md#from-a-device) makes the ' + 'request',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'sessions',
    keys: { app_id: 'integer', started_at: 'timestamptz', id: 'bigint' },
    found: `SELECT ${KEY} FROM sessions WHERE entity_id = $1 AND user_id = ANY ($2)
      UNION ALL SELECT ${KEY} FROM sessions WHERE entity_id = $1 AND subject = ANY (${DEVICE_SUBJECTS}) AND user_id IS NULL
      UNION ALL SELECT ${KEY} FROM sessions
        WHERE entity_id = $1 AND subject = ANY (${WHOLE_SUBJECTS}) AND user_id IS NOT NULL AND user_id <> ALL ($2)`,
    shown: `r.started_at, r.ended_at, r.background_seconds, r.utc_offset, r.app_id, r.id, r.device_id, r.user_id, r.app_version,
      r.sdk_version, r.os_version, r.device_type, r.device_model, r.idiom, r.country, r.lang, r.carrier`,
  }),
  count: (deps, entityId, people) => countInPartitions(deps, entityId, of(people)),
  erase: (deps, entityId, people) => eraseFromPartitions(deps, entityId, of(people)),
};

function of(people: KnownBy[]): PeopleOfPartitions {
  const [devices, wholeDevices] = (['device_id', 'whole_device'] as const).map((type) =>
    idsOfType(people, type).map((id) => `d${id}`),
  );
  return {
    table: 'sessions',
    users: idsOfType(people, 'user_id'),
    devices: devices!,
    wholeDevices: wholeDevices!,
    byDevice: 'subject',
    time: null,
  };
}
