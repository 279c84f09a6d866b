import type { Queryable } from '../store/database.ts';
import { type AuditEntry, insertAuditEntry } from '../store/audit-log.ts';
import type { Caller } from './caller.ts';

/** Writes down what a logged-in user does, in the transaction that does it. */
export function audit(
  tx: Queryable,
  { caller, address }: { caller: Caller; address: string },
  entry: Omit<AuditEntry, 'actorKind' | 'actorId' | 'address'>,
): Promise<void> {
  return insertAuditEntry(tx, caller.entityId, { actorKind: 'user', actorId: caller.userId, address, ...entry });
}
