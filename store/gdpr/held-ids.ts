import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { OF_ANY_APP } from './rows-of-people.ts';

/** Ids of the people of a request: SQL that each question about holds is made of, so that all follow one rule. */

/** Selects `ordinal`, `kind` and `value` of the ids that were asked for or found in a request. Arguments are SQL. */
export const ownIds = (entityId: string, requestId: string) => `
  SELECT o.ordinal, CASE WHEN o.user_id IS NULL THEN 'device_id' ELSE 'user_id' END AS kind, coalesce(o.user_id, o.device_id) AS value
  FROM gdpr_request_people o WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId}
  UNION ALL SELECT o.ordinal, o.kind, o.value FROM gdpr_identifiers o WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId}`;

/**
 * The same with the users of a device that asks for itself, since what they did there is erased with it: a hold on any
 * of these ids keeps the person of this ordinal.
 */
export const holdableIds = (entityId: string, requestId: string) => `${ownIds(entityId, requestId)}
  UNION ALL SELECT o.ordinal, 'user_id', d.user_id
  FROM gdpr_request_people o JOIN gdpr_requests q ON q.entity_id = ${entityId} AND q.id = o.request_id AND q.source = 'sdk'
    JOIN device_users d ON d.entity_id = ${entityId} AND d.${OF_ANY_APP} AND d.device_id = o.device_id
  WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId} AND o.user_id IS NULL`;

/** Lists the ordinals of those people of a request that a hold keeps, by any of their ids. */
export async function listOrdinalsOnHold(tx: Tx, entityId: number, requestId: number): Promise<number[]> {
  await tx.query(LOOK_UP_BY_KEY);
  // Holds are few.
  const { rows } = await tx.query<{ ordinal: number }>(
    `SELECT DISTINCT k.ordinal FROM (${holdableIds('$1', '$2')}) k
       JOIN gdpr_holds h ON h.entity_id = $1 AND h.customer_id = k.value AND h.customer_type = k.kind`,
    [entityId, requestId],
  );
  return rows.map(({ ordinal }) => ordinal);
}
