import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { DEVICE_SUBJECTS, rowsOfPeople, USER_SUBJECTS } from '../../gdpr/rows-of-people.ts';

/** By the primary key, for each campaign that runs. */
export const campaignMembers: PersonalDataLocation = {
  name: 'campaign_members',
  columns: ['person', 'is_member', 'notified', 'last_notified_at', 'last_window'],
  otherColumns: ['entity_id', 'send_id'],
  foundBy: 'the user\'s or the device\'s id in person',
  ...rowsOfPeople({
    table: 'campaign_members',
    keys: { send_id: 'integer', person: 'text' },
    found: `SELECT m.send_id, m.person FROM sends s
      JOIN campaign_members m ON m.entity_id = s.entity_id AND m.send_id = s.id AND m.person = ANY (${USER_SUBJECTS} || ${DEVICE_SUBJECTS})
      WHERE s.entity_id = $1 AND s.campaign_id IS NOT NULL`,
    shown: `(SELECT c.name FROM sends s JOIN campaigns c ON c.entity_id = s.entity_id AND c.id = s.campaign_id
        WHERE s.entity_id = $1 AND s.id = r.send_id) AS campaign, r.person, r.is_member, r.notified, r.last_notified_at`,
  }),
};
