import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { DEVICE_SUBJECTS, rowsOfPeople, USER_SUBJECTS } from '../../gdpr/rows-of-people.ts';

/** The rows of a campaign that sends, read as a whole: they stay as long as it takes to send. */
export const campaignAudience: PersonalDataLocation = {
  name: 'campaign_audience',
  columns: ['person', 'device_id', 'due_at'],
  otherColumns: ['entity_id', 'send_id'],
  holds: 'the people and devices that a running campaign is about to send to',
  foundBy: 'user id; device id',
  erasedBy: 'deleting the rows',
  ...rowsOfPeople({
    table: 'campaign_audience',
    keys: { send_id: 'integer', due_at: 'timestamptz', person: 'text', device_id: 'text' },
    found: `SELECT send_id, due_at, person, device_id FROM campaign_audience
      WHERE entity_id = $1 AND (person = ANY (${USER_SUBJECTS} || ${DEVICE_SUBJECTS}) OR device_id = ANY ($4))`,
    shown: `(SELECT c.name FROM sends s JOIN campaigns c ON c.entity_id = s.entity_id AND c.id = s.campaign_id
        WHERE s.entity_id = $1 AND s.id = r.send_id) AS campaign, r.person, r.device_id, r.due_at`,
  }),
};
