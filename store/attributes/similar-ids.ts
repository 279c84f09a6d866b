import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';

/** Ids that differ only in capitals or in composed letters: Millrace takes them for different people, and they may be one. */

/** SQL: an entity and an id without these differences, as the indexes customers_by_fold and device_users_by_fold hold them. */
const foldedId = (entityId: string, id: string) =>
  `(${entityId}::text || ' ' || left(normalize(lower(${id} COLLATE pg_c_utf8), NFC), 256))`;

/** A user id asked for, and a user that the entity has under a similar one. */
export type SimilarId = { asked: string; similar: string };

/**
 * Lists users of the entity whose id is similar to one of these ids and none of them, in the order of these ids; at most `limit`. The
 * users of the last seconds may be missing. Joins of the transaction look rows up by key from here on.
 */
export async function listSimilarIds(tx: Tx, entityId: number, asked: readonly string[], limit: number): Promise<SimilarId[]> {
  await tx.query(LOOK_UP_BY_KEY);
  // Uses the indexes customers_by_fold and device_users_by_fold, once for each id.
  const { rows } = await tx.query<SimilarId>(SIMILAR_IDS, [entityId, asked, limit]);
  return rows;
}

export const SIMILAR_IDS = `SELECT a.asked, s.similar
  FROM (SELECT asked, ordinal, ${foldedId('$1', 'asked')} AS fold FROM unnest($2::text[]) WITH ORDINALITY AS u (asked, ordinal)) a
  CROSS JOIN LATERAL (
    SELECT customer_id AS similar FROM customers WHERE ${foldedId('entity_id', 'customer_id')} = a.fold AND customer_type = 0
    UNION SELECT user_id FROM device_users WHERE ${foldedId('entity_id', 'user_id')} = a.fold) s
  WHERE s.similar <> ALL ($2::text[])
  ORDER BY a.ordinal, s.similar LIMIT $3`;
