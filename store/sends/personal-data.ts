/** Locations of personal data in sends: messages and their attempts, audiences, counters of people. */
import type { PersonalDataLocation } from '../gdpr/personal-data-location.ts';
import { byUserOrDevice, DEVICE_SUBJECTS, HASH_OF_USER, rowsOfPeople, USER_SUBJECTS } from '../gdpr/rows-of-people.ts';

const CAMPAIGN = '(SELECT c.name FROM campaigns c WHERE c.entity_id = $1 AND c.id = r.campaign_id) AS campaign';
const CAMPAIGN_OF_SEND = `(SELECT c.name FROM sends s JOIN campaigns c ON c.entity_id = s.entity_id AND c.id = s.campaign_id
  WHERE s.entity_id = $1 AND s.id = r.send_id) AS campaign`;

/** The messages stay without user and device, for reports. Uses the index send_messages_by_user. */
const sendMessages = rowsOfPeople({
  name: 'send_messages',
  key: 'send_id, ordinal',
  columns: 'user_id, user_hash, vars',
  otherColumns: 'entity_id, send_id, ordinal',
  holds:
    "a message that was asked for, with the values of its placeholders, until Millrace looks at the user's devices",
  foundBy: 'user id',
  erasedBy: 'replacing the id with a keyed hash, and emptying the values',
  keptFor: "until Millrace looks at the user's devices",
  found: 'SELECT send_id, ordinal FROM send_messages WHERE entity_id = $1 AND user_id = ANY ($2)',
  shown: `user_id, r.vars::text AS vars,
    (SELECT s.received_at FROM sends s WHERE s.entity_id = $1 AND s.id = r.send_id) AS received_at`,
  emptied: `user_id = NULL, user_hash = ${HASH_OF_USER}, vars = NULL`,
});

/** The rows stay without the person, for counts; none is sent. Uses attempts_by_user and attempts_by_device. */
export const attempts = rowsOfPeople({
  name: 'attempts',
  key: 'campaign_id, id',
  columns: `device_id, user_id, user_hash, details, content, provider_message_id, created_at, settled_at,
    delivered_at, opened_at, shown_at, clicked_at`,
  otherColumns: `entity_id, campaign_id, id, due_at, expires_at, inapp_until, changed_at, app_id, send_id,
    message_ordinal, tries, is_paced, channel, state, code, provider, variant`,
  holds: 'messages to the devices of people, what they said, also of their profiles, and what became of them',
  foundBy: 'user id; device id if no user was named, or if the device itself makes the request',
  erasedBy:
    'emptying ids and content, with a keyed hash in place of the user id; what waits is canceled. The rows ' +
    "stay, since a campaign's counts depend on them",
  keptFor: '30 days, to the end of the UTC day',
  found: byUserOrDevice('attempts', 'campaign_id, id'),
  shown: `app_id, ${CAMPAIGN}, channel, code, details, r.content::text AS content, device_id, user_id, created_at,
    settled_at, delivered_at, opened_at, shown_at, clicked_at`,
  emptied: `user_id = NULL, device_id = NULL, user_hash = ${HASH_OF_USER}, content = NULL, details = NULL,
    provider_message_id = NULL, inapp_until = NULL, due_at = NULL, changed_at = now(),
    code = CASE WHEN state = 'waiting' THEN 'CANCELED' WHEN state = 'sending' THEN 'UNKNOWN' ELSE code END,
    state = 'settled', settled_at = coalesce(settled_at, now())`,
});

/** The rows of a campaign that sends, read as a whole: they last as long as it takes to send. */
const campaignAudience = rowsOfPeople({
  name: 'campaign_audience',
  key: 'send_id, due_at, person, device_id',
  columns: 'person, device_id, due_at',
  otherColumns: 'entity_id, send_id',
  holds: 'the people and devices that a running campaign is about to send to',
  foundBy: 'user id; device id',
  erasedBy: 'deleting the rows',
  keptFor: 'until Millrace sends to them, or the campaign ends',
  found: `SELECT send_id, due_at, person, device_id FROM campaign_audience
    WHERE entity_id = $1 AND (person = ANY (${USER_SUBJECTS} || ${DEVICE_SUBJECTS}) OR device_id = ANY ($4))`,
  shown: `${CAMPAIGN_OF_SEND}, person, device_id, due_at`,
});

/** Uses the index campaign_members_by_person. */
const campaignMembers = rowsOfPeople({
  name: 'campaign_members',
  key: 'send_id, person',
  columns: 'person, is_member, notified, last_notified_at, last_window',
  otherColumns: 'entity_id, send_id',
  holds: 'the fact that a person is in the audience of a campaign',
  foundBy: 'user id; device id if the person has no user id',
  erasedBy: 'deleting the rows',
  keptFor: 'until the campaign ends',
  found: `SELECT send_id, person FROM campaign_members
    WHERE entity_id = $1 AND person = ANY (${USER_SUBJECTS} || ${DEVICE_SUBJECTS})`,
  shown: `${CAMPAIGN_OF_SEND}, person, is_member, notified, last_notified_at`,
});

/** Uses the index campaign_people_by_person. */
const campaignPeople = rowsOfPeople({
  name: 'campaign_people',
  key: 'campaign_id, person',
  columns: 'person, sent, opened, shown, clicked, last_sent_at',
  otherColumns: 'entity_id, campaign_id',
  holds: 'how many messages of a campaign a person got, opened and clicked, where the messages are no longer kept',
  foundBy: 'the id in it',
  erasedBy: 'deleting the rows',
  keptFor: 'as long as the campaign',
  found: `SELECT campaign_id, person FROM campaign_people
    WHERE entity_id = $1 AND person = ANY (${USER_SUBJECTS} || ${DEVICE_SUBJECTS})`,
  shown: `${CAMPAIGN}, person, sent, opened, shown, clicked, last_sent_at`,
});

export const sendsData: PersonalDataLocation[] = [
  sendMessages,
  campaignAudience,
  campaignMembers,
  attempts,
  campaignPeople,
];
