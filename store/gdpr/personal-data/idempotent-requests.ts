import type { PersonalDataLocation } from '../personal-data-location.ts';
import { namedIn } from './named-in.ts';
import { textsOfPeople } from './texts-of-people.ts';

export const idempotentRequests: PersonalDataLocation = {
  name: 'idempotent_requests',
  columns: ['reply'],
  otherColumns: ['entity_id', 'key_hash', 'fingerprint', 'holder', 'received_at', 'leased_until', 'http_status', 'identifier'],
  foundBy: 'the id in a reply that is kept for a repeat, for 24 hours',
  ...textsOfPeople({
    table: 'idempotent_requests', keys: { key_hash: 'bytea' }, text: 'reply', naming: namedIn('reply'),
    within: 'identifier',
    // The key stays taken: a repeat is refused as one whose reply is not kept, and does nothing twice.
    change: 'UPDATE idempotent_requests SET reply = NULL',
  }),
};
