import { keyedHashes } from '../gdpr/rows-of-people.ts';

export const auditLog = keyedHashes({
  name: 'audit_log',
  columns: 'customer_hash',
  otherColumns: 'entity_id, id, happened_at, actor_kind, actor_id, address, action, subject_kind, subject, details',
  holds: 'the fact that a user looked at a customer',
  keptFor: 'as long as the entity',
  shown: `SELECT happened_at, actor_kind, actor_id, action, subject_kind, subject FROM audit_log
    WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[]) ORDER BY id`,
});
