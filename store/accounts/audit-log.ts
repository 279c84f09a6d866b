/** Writes entries of the audit log. */
import type { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import type { Queryable } from '../core/database.ts';

export type AuditEntry = {
  actorKind: (typeof ACTOR_KINDS)[number];
  actorId?: number | null;
  address?: string | null;
  action: (typeof AUDIT_ACTIONS)[number];
  subjectKind: (typeof SUBJECT_KINDS)[number];
  /** An identifier of ours, never a customer's. */
  subject?: string | null;
  /** Hash of the customer concerned, by `Secrets.customerHash`. */
  customerHash?: Buffer | null;
  /** Names and counts, never a customer's values. */
  details?: Record<string, string | number | boolean | null>;
};

/** Appends one entry. Call it in the transaction that makes the change. */
export function insertAuditEntry(db: Queryable, entityId: number, entry: AuditEntry): Promise<void> {
  return insertAuditEntries(db, entityId, [entry]);
}

/** Appends several entries in one statement. */
export async function insertAuditEntries(db: Queryable, entityId: number, entries: AuditEntry[]): Promise<void> {
  const column = <T>(read: (entry: AuditEntry) => T) => entries.map(read);
  await db.query(
    `INSERT INTO audit_log (entity_id, actor_kind, actor_id, address, action, subject_kind, subject, customer_hash, details)
     SELECT $1, * FROM unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::jsonb[])`,
    [
      entityId,
      column(({ actorKind }) => actorKind),
      column(({ actorId }) => actorId ?? null),
      column(({ address }) => address ?? null),
      column(({ action }) => action),
      column(({ subjectKind }) => subjectKind),
      column(({ subject }) => subject ?? null),
      column(({ customerHash }) => customerHash ?? null),
      column(({ details }) => JSON.stringify(details ?? {})),
    ],
  );
}
