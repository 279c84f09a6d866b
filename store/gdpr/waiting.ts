import type { Queryable } from '../core/database.ts';
import { holdableIds } from './held-ids.ts';

export type WaitingPerson = { ordinal: number; kind: 'hold' | 'restriction'; reason: string; since: Date };

/** What the held people of a request are waiting for: of each the hold that has stood longest, if one still does. */
export async function listWaitingPeople(db: Queryable, entityId: number, requestId: number): Promise<WaitingPerson[]> {
  // By the keys of people and identifiers, all of the request; holds are few.
  const { rows } = await db.query<{ ordinal: number; kind: WaitingPerson['kind']; reason: string; created_at: Date }>(
    `SELECT DISTINCT ON (held.ordinal) held.ordinal, h.kind, h.reason, h.created_at
     FROM gdpr_request_people held JOIN (${holdableIds('$1', '$2')}) k USING (ordinal)
       JOIN gdpr_holds h ON h.entity_id = $1 AND h.customer_id = k.value AND h.customer_type = k.kind
     WHERE held.entity_id = $1 AND held.request_id = $2 AND held.state = 'held'
     ORDER BY held.ordinal, h.id`,
    [entityId, requestId],
  );
  return rows.map(({ ordinal, kind, reason, created_at: since }) => ({ ordinal, kind, reason, since }));
}
