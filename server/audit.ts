import type { Queryable } from '../store/database.ts';
import { type AuditEntry, insertAuditEntry } from '../store/audit-log.ts';
import type { Caller } from './caller.ts';

/**
 * Writes down what a logged-in user or a service token does, in the transaction that does it; in the log of the
 * caller's entity unless another one is named.
 */
export function audit(
  tx: Queryable,
  { caller, address }: { caller: Caller; address: string },
  entry: Omit<AuditEntry, 'actorKind' | 'actorId' | 'address'>,
  entityId = caller.entityId,
): Promise<void> {
  const actor = caller.serviceTokenId === null
    ? { actorKind: 'user', actorId: caller.userId } as const
    : { actorKind: 'service_token', actorId: caller.serviceTokenId } as const;
  return insertAuditEntry(tx, entityId, { ...actor, address, ...entry });
}
