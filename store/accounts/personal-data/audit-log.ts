import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { keyedHashes } from '../../gdpr/personal-data/keyed-hashes.ts';

export const auditLog: PersonalDataLocation = {
  name: 'audit_log',
  columns: ['customer_hash'],
  otherColumns: [
    'entity_id',
    'id',
    'happened_at',
    'actor_kind',
    'actor_id',
    'address',
    'action',
    'subject_kind',
    'subject',
    'details',
  ],
  holds: 'the fact that a user looked at a customer',
  foundBy: 'a keyed hash',
  erasedBy: 'never; it holds no id',
  ...keyedHashes(
    `SELECT happened_at, actor_kind, actor_id, action, subject_kind, subject FROM audit_log
     WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[]) ORDER BY id`,
  ),
};
