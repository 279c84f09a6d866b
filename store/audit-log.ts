import type { Queryable } from './database.ts';

export const ACTOR_KINDS = ['user', 'service_token', 'sor_key', 'system'] as const;
export const AUDIT_ACTIONS = ['create', 'read', 'update', 'delete', 'import', 'login', 'logout'] as const;
export const SUBJECT_KINDS = [
  'session', 'system_of_record', 'customer_attribute', 'customer', 'import', 'user', 'service_token', 'entity', 'audit_log',
] as const;

export type AuditEntry = {
  actorKind: (typeof ACTOR_KINDS)[number];
  actorId?: number | null;
  /** The caller's network address. */
  address?: string | null;
  action: (typeof AUDIT_ACTIONS)[number];
  subjectKind: (typeof SUBJECT_KINDS)[number];
  /** An identifier of ours, never a customer's. */
  subject?: string | null;
  /** The person concerned, as `Secrets.customerHash` names them. */
  customerHash?: Buffer | null;
  /** Names and counts; never a value of a customer. */
  details?: Record<string, string | number | boolean | null>;
};

/** Appends one entry. Within a transaction it stands or falls with what it tells of. */
export async function insertAuditEntry(db: Queryable, entityId: number, entry: AuditEntry): Promise<void> {
  await db.query(
    `INSERT INTO audit_log (entity_id, actor_kind, actor_id, address, action, subject_kind, subject, customer_hash, details)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [entityId, entry.actorKind, entry.actorId ?? null, entry.address ?? null, entry.action, entry.subjectKind,
      entry.subject ?? null, entry.customerHash ?? null, entry.details ?? {}]);
}
