import type { Queryable } from '../core/database.ts';

/**
 * First key of the advisory locks on a SoR's rules; the second is the SoR's id. Merges share the lock, changes take it
 * alone. With a row lock, new sharers pass a waiting exclusive one without end; advisory locks are first come, first
 * served.
 */
export const RULES_LOCK = 1_750_001;

/** Locks the SoR's rules against merges until the transaction ends. Take it before any row of the SoR. */
export async function lockSorRules(tx: Queryable, sorId: number): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [RULES_LOCK, sorId]);
}
