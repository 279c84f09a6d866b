import type { Queryable } from '../core/database.ts';
import { OF_ANY_APP } from './rows-of-people.ts';

export type WaitingPerson = { ordinal: number; kind: 'hold' | 'restriction'; reason: string; since: Date };

/** What the held people of a request are waiting for: of each the hold that has stood longest, if one still does. */
export async function listWaitingPeople(db: Queryable, entityId: number, requestId: number): Promise<WaitingPerson[]> {
  // By the keys of people and identifiers, all of the request; holds are few.
  const { rows } = await db.query<{ ordinal: number; kind: WaitingPerson['kind']; reason: string; created_at: Date }>(
    `WITH held AS (
       SELECT ordinal, user_id, device_id FROM gdpr_request_people
       WHERE entity_id = $1 AND request_id = $2 AND state = 'held'),
     known_by AS (
       SELECT ordinal, 'user_id' AS kind, user_id AS value FROM held WHERE user_id IS NOT NULL
       UNION SELECT ordinal, 'device_id', device_id FROM held WHERE user_id IS NULL
       UNION SELECT ordinal, kind, value FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2
       UNION SELECT i.ordinal, 'user_id', u.user_id FROM gdpr_identifiers i JOIN device_users u
         ON u.entity_id = $1 AND u.${OF_ANY_APP} AND u.device_id = i.value
       WHERE i.entity_id = $1 AND i.request_id = $2 AND i.kind = 'whole_device')
     SELECT DISTINCT ON (held.ordinal) held.ordinal, h.kind, h.reason, h.created_at
     FROM held JOIN known_by USING (ordinal)
       JOIN gdpr_holds h ON h.entity_id = $1 AND h.customer_id = known_by.value AND h.customer_type = known_by.kind
     ORDER BY held.ordinal, h.id`, [entityId, requestId]);
  return rows.map(({ ordinal, kind, reason, created_at: since }) => ({ ordinal, kind, reason, since }));
}
