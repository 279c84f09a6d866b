import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { keyedHashes } from '../../gdpr/personal-data/keyed-hashes.ts';

export const auditLog: PersonalDataLocation = {
  name: 'audit_log',
  columns: ['customer_hash'],
  otherColumns: ['entity_id', 'id', 'happened_at', 'actor_kind', 'actor_id', 'address', 'action', 'subject_kind', 'subject', 'details'],
  foundBy: 'customer_hash, a keyed hash that names nobody without the server\'s key',
  ...keyedHashes(
    `SELECT happened_at, actor_kind, actor_id, action, subject_kind, subject FROM audit_log
     WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[]) ORDER BY id`),
};
