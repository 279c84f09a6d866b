import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { DEVICE_SUBJECTS, rowsOfPeople, USER_SUBJECTS } from '../../gdpr/rows-of-people.ts';

/** By campaign_members_by_person. */
export const campaignMembers: PersonalDataLocation = {
  name: 'campaign_members',
  columns: ['person', 'is_member', 'notified', 'last_notified_at', 'last_window'],
  otherColumns: ['entity_id', 'send_id'],
  holds: 'the fact that a person is in the audience of a campaign',
  foundBy: 'user id; device id if the person has no user id',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'campaign_members',
    keys: { send_id: 'integer', person: 'text' },
    found: `SELECT send_id, person FROM campaign_members
      WHERE entity_id = $1 AND person = ANY (${USER_SUBJECTS} || ${DEVICE_SUBJECTS})`,
    shown: `(SELECT c.name FROM sends s JOIN campaigns c ON c.entity_id = s.entity_id AND c.id = s.campaign_id
        WHERE s.entity_id = $1 AND s.id = r.send_id) AS campaign, r.person, r.is_member, r.notified, r.last_notified_at`,
  }),
};
