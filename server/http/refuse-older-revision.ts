import type { SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { findLastChange } from '../../store/accounts/audit-log.ts';
import type { Tx } from '../../store/core/database.ts';

type SubjectKind = (typeof SUBJECT_KINDS)[number];

/**
 * Refuses a change of another revision than the stored one, and says who made that one. Call it under the object's
 * lock; undefined: no check.
 */
export async function refuseOlderRevision(
  tx: Tx,
  entityId: number,
  kind: SubjectKind,
  { identifier, revision }: { identifier: string; revision: number },
  given: number | undefined,
): Promise<void> {
  if (given === undefined || given === revision) return;
  refuse(
    409,
    'conflict',
    `The ${kind.replaceAll('_', ' ')} ${identifier} has been changed since: it has revision ${revision}, and your change is of ` +
      `revision ${given}. Get it again, make your change there, and send it with revision ${revision}`,
    await lastChange(tx, entityId, kind, identifier),
  );
}

/** Returns who changed an object last, and when, for a refusal. Nothing if that is more than a day ago. */
export async function lastChange(
  tx: Tx,
  entityId: number,
  kind: SubjectKind,
  identifier: string,
): Promise<{ changed_at?: string; changed_by?: string | null }> {
  const change = await findLastChange(tx, entityId, kind, identifier);
  return change ? { changed_at: change.happenedAt.toISOString(), changed_by: change.actorName ?? change.actor } : {};
}
