import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { DEVICE_SUBJECTS, rowsOfPeople, USER_SUBJECTS } from '../../gdpr/rows-of-people.ts';

/** By campaign_people_by_person. */
export const campaignPeople: PersonalDataLocation = {
  name: 'campaign_people',
  columns: ['person', 'sent', 'opened', 'shown', 'clicked', 'last_sent_at'],
  otherColumns: ['entity_id', 'campaign_id'],
  holds: 'how many messages of a campaign a person got, opened and clicked, where the messages are no longer kept',
  foundBy: 'the id in it',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'campaign_people',
    keys: { campaign_id: 'integer', person: 'text' },
    found: `SELECT campaign_id, person FROM campaign_people
      WHERE entity_id = $1 AND person = ANY (${USER_SUBJECTS} || ${DEVICE_SUBJECTS})`,
    shown: `(SELECT c.name FROM campaigns c WHERE c.entity_id = $1 AND c.id = r.campaign_id) AS campaign, r.person, r.sent, r.opened,
      r.shown, r.clicked, r.last_sent_at`,
  }),
};
