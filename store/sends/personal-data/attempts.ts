import { hashesOfUsers, rowIdsOf } from '../../gdpr/people-keys.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { byUserOrDevice, changeFound, HASH_OF_USER, rowsOfPeople } from '../../gdpr/rows-of-people.ts';

const keys = { campaign_id: 'integer', id: 'bigint' } as const;
/** By attempts_by_user and attempts_by_device. */
const FOUND = byUserOrDevice('campaign_id, id', 'attempts');

/** The rows stay without the person, since a campaign's counts rest on them; what waits is not sent. */
export const attempts: PersonalDataLocation = {
  name: 'attempts',
  after: ['send_messages'],
  columns: [
    'device_id',
    'user_id',
    'user_hash',
    'details',
    'content',
    'provider_message_id',
    'created_at',
    'settled_at',
    'delivered_at',
    'opened_at',
    'shown_at',
    'clicked_at',
  ],
  otherColumns: [
    'entity_id',
    'campaign_id',
    'id',
    'due_at',
    'expires_at',
    'inapp_until',
    'changed_at',
    'app_id',
    'send_id',
    'message_ordinal',
    'tries',
    'is_paced',
    'channel',
    'state',
    'code',
    'provider',
    'variant',
  ],
  holds: 'messages to the devices of people, what they said and what became of them, for 30 days',
  foundBy: 'user id; device id if no user was named, or if the device itself makes the request',
  erasedBy:
    'emptying ids and content, with a keyed hash in place of the user id; what waits is canceled. The rows ' +
    "stay, since a campaign's counts depend on them",
  ...rowsOfPeople({
    table: 'attempts',
    keys,
    found: FOUND,
    shown: `r.app_id, (SELECT c.name FROM campaigns c WHERE c.entity_id = $1 AND c.id = r.campaign_id) AS campaign, r.channel, r.code,
      r.details, r.content::text AS content, r.device_id, r.user_id, r.created_at, r.settled_at, r.delivered_at, r.opened_at, r.shown_at,
      r.clicked_at`,
  }),
  erase: (deps, entityId, people) =>
    changeFound(
      deps,
      `UPDATE attempts AS r SET user_id = NULL, device_id = NULL, user_hash = ${HASH_OF_USER}, content = NULL, details = NULL,
       provider_message_id = NULL, inapp_until = NULL, due_at = NULL, changed_at = now(),
       code = CASE WHEN state = 'waiting' THEN 'CANCELED' WHEN state = 'sending' THEN 'UNKNOWN' ELSE code END,
       state = 'settled', settled_at = coalesce(settled_at, now())
     FROM found`,
      { keys, found: FOUND },
      [...rowIdsOf(entityId, people), hashesOfUsers(deps.secrets, entityId, people)],
    ),
};
