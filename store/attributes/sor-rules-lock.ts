import type { Queryable } from '../core/database.ts';

/**
 * The first key of the advisory locks on what decides about a SoR's rows; the second is the SoR's id. Merges share
 * it, changes take it alone. A row lock would not do: those who share one let others join, however long somebody
 * has waited to take it alone, and the merges of an import overlap without end. Advisory locks are first come,
 * first served.
 */
export const RULES_LOCK = 1_750_001;

/** Until the transaction ends no merge goes by this SoR's rules; to be taken before any row of it is locked. */
export async function lockSorRules(tx: Queryable, sorId: number): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [RULES_LOCK, sorId]);
}
