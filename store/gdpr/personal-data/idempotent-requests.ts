import type { PersonalDataLocation } from '../personal-data-location.ts';
import { namedIn } from './named-in.ts';
import { textsOfPeople } from './texts-of-people.ts';

export const idempotentRequests: PersonalDataLocation = {
  name: 'idempotent_requests',
  columns: ['reply'],
  otherColumns: [
    'entity_id',
    'key_hash',
    'fingerprint',
    'holder',
    'received_at',
    'leased_until',
    'http_status',
    'identifier',
  ],
  holds: 'a response that is kept for a retry, for 24 hours',
  foundBy: 'the id within it',
  erasedBy: 'emptying the response: the server then refuses a retry, because the response is not kept',
  ...textsOfPeople({
    table: 'idempotent_requests',
    keys: { key_hash: 'bytea' },
    text: 'reply',
    naming: namedIn('reply'),
    within: 'identifier',
    // The key stays taken: a repeat is refused as one whose reply is not kept, and does nothing twice.
    change: 'UPDATE idempotent_requests SET reply = NULL',
  }),
};
