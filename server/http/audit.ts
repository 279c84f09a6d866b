/** Writes entries of the audit log for the action of a request. */
import { type AuditEntry, insertAuditEntries, insertAuditEntry } from '../../store/accounts/audit-log.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Caller } from './caller.ts';

/** Writes an entry in the action's transaction, into the log of the caller's entity unless another one is named. */
export function audit(
  tx: Queryable,
  who: { caller: Caller; address: string },
  entry: Omit<AuditEntry, 'actorKind' | 'actorId' | 'address'>,
  entityId = who.caller.entityId,
): Promise<void> {
  return insertAuditEntry(tx, entityId, { ...actorOf(who), ...entry });
}

export function auditEach(
  tx: Queryable,
  who: { caller: Caller; address: string },
  entries: Omit<AuditEntry, 'actorKind' | 'actorId' | 'address'>[],
): Promise<void> {
  return insertAuditEntries(
    tx,
    who.caller.entityId,
    entries.map((entry) => ({ ...actorOf(who), ...entry })),
  );
}

export function actorOf({ caller: { userId, serviceTokenId }, address }: { caller: Caller; address: string }) {
  return serviceTokenId === null
    ? ({ actorKind: 'user', actorId: userId, address } as const)
    : ({ actorKind: 'service_token', actorId: serviceTokenId, address } as const);
}

/** Writes that the caller read the data of these people, known or not. */
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
