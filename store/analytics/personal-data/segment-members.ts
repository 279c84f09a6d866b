import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { DEVICE_SUBJECTS, rowsOfPeople, USER_SUBJECTS } from '../../gdpr/rows-of-people.ts';

const KEY = 'segment_id, person';

/**
 * By segment_members_by_person. A device is a person in a segment where the segment's app knows no user of it, or
 * several: then it is theirs where no other person uses it in that app, or it asks for itself.
 */
export const segmentMembers: PersonalDataLocation = {
  name: 'segment_members',
  columns: ['segment_id', 'person'],
  otherColumns: ['entity_id'],
  holds: 'the fact that a person is in a segment',
  foundBy:
    "user id; device id, if no one else uses the device in the segment's app, or if [the device " +
    'itself](gdpr.md#from-a-device) makes the request',
  erasedBy: 'deleting the rows; a refresh leaves out erased people',
  ...rowsOfPeople({
    table: 'segment_members',
    keys: { segment_id: 'integer', person: 'text' },
    found: `SELECT ${KEY} FROM segment_members WHERE entity_id = $1 AND person = ANY (${USER_SUBJECTS})
      UNION ALL SELECT ${KEY} FROM segment_members AS m
        WHERE entity_id = $1 AND person = ANY (${DEVICE_SUBJECTS}) AND (substr(person, 2) = ANY ($4) OR NOT EXISTS (
          SELECT FROM segments s JOIN device_users u ON u.entity_id = $1 AND u.app_id = s.app_id
          WHERE s.entity_id = $1 AND s.id = m.segment_id AND u.device_id = substr(m.person, 2) AND u.user_id <> ALL ($2::text[])))`,
    shown: `${ofSegment('app_id')}, ${ofSegment('identifier', 'segment')}, ${ofSegment('name')}, ${ofSegment('description')},
      substr(r.person, 2) AS customer_id`,
  }),
};

function ofSegment(column: string, name = column): string {
  return `(SELECT s.${column} FROM segments s WHERE s.entity_id = r.entity_id AND s.id = r.segment_id) AS ${name}`;
}
