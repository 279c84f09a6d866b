import { readRow } from '../core/camel-row.ts';
import type { Tx } from '../core/database.ts';
import { type GdprRequest, KEPT_FOR, toGdprRequest } from './request-record.ts';

/**
 * Decides on a request that waits, or lets one go on that was given up. Null: there is no such request of that name.
 */
export async function updateDecision(
  tx: Tx,
  entityId: number,
  identifier: string,
  { state, decidedBy }: { state: 'accepted' | 'declined'; decidedBy: number },
): Promise<GdprRequest | null> {
  // Of two that decide at once, the second finds that it waits no more.
  return readRow(
    await tx.query(
      `UPDATE gdpr_requests SET state = $3, decided_by = $4, decided_at = now(), updated_at = now(), given_up_at = NULL,
       fault = NULL, fault_since = NULL,
       expires_at = CASE WHEN $3 = 'declined' THEN now() + ${KEPT_FOR} END
     WHERE entity_id = $1 AND identifier = $2 AND (state = 'waiting' OR (given_up_at IS NOT NULL AND $3 = 'accepted'))
     RETURNING *`,
      [entityId, identifier, state, decidedBy],
    ),
    toGdprRequest,
  );
}
