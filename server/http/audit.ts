import { type AuditEntry, insertAuditEntries, insertAuditEntry } from '../../store/accounts/audit-log.ts';
import type { Queryable } from '../../store/core/database.ts';
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
  return insertAuditEntry(tx, entityId, { ...actorOf(caller), address, ...entry });
}

/** The same of several things, in one statement. */
export function auditEach(
  tx: Queryable,
  { caller, address }: { caller: Caller; address: string },
  entries: Omit<AuditEntry, 'actorKind' | 'actorId' | 'address'>[],
): Promise<void> {
  return insertAuditEntries(
    tx,
    caller.entityId,
    entries.map((entry) => ({ ...actorOf(caller), address, ...entry })),
  );
}

function actorOf({ userId, serviceTokenId }: Caller) {
  return serviceTokenId === null
    ? ({ actorKind: 'user', actorId: userId } as const)
    : ({ actorKind: 'service_token', actorId: serviceTokenId } as const);
}

/** Writes down that somebody looked at each of these people, whether they are known or not. */
export function auditReads(
  tx: Queryable,
  who: { caller: Caller; address: string },
  customerHashes: readonly Buffer[],
  details: NonNullable<AuditEntry['details']>,
): Promise<void> {
  return auditEach(
    tx,
    who,
    customerHashes.map((customerHash) => ({ action: 'read', subjectKind: 'customer', details, customerHash })),
  );
}
