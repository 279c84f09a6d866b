/** Similar ids, which differ only in case or in composed letters: different people here, but they may be one. */

import type { FoldedSet } from '../../domain/attributes/attribute-change.ts';
import type { Row } from '../core/camel-row.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';

/** SQL: an entity and an id without these differences, as in the indexes customers_by_fold and device_users_by_fold. */
const foldedId = (entityId: string, id: string) =>
  `(${entityId}::text || ' ' || left(normalize(lower(${id} COLLATE pg_c_utf8), NFC), 256))`;

export type SimilarId = { asked: string; similar: string };

/**
 * Lists users with ids similar but equal to none of these, in their order, at most `limit`. Users of the last seconds
 * may be missing. Joins in this transaction look up rows by key from here on.
 */
export async function listSimilarIds(
  tx: Tx,
  entityId: number,
  asked: readonly string[],
  limit: number,
): Promise<SimilarId[]> {
  await tx.query(LOOK_UP_BY_KEY);
  // Uses the indexes customers_by_fold and device_users_by_fold once an id.
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

const FIRST_LINES = `ON CONFLICT (entity_id, import_id, customer_id, customer_type)
  DO UPDATE SET line = excluded.line WHERE excluded.line < dry_run_ids.line`;

async function insertStagedIds(tx: Tx, entityId: number, importId: number): Promise<void> {
  await tx.query(
    `INSERT INTO dry_run_ids (entity_id, import_id, customer_id, customer_type, line)
     SELECT $1, $2, customer_id, customer_type, min(line) FROM staged_values GROUP BY customer_id, customer_type
     ORDER BY customer_id, customer_type ${FIRST_LINES}`,
    [entityId, importId],
  );
}

/** Stores the first line of each id in a dry run: of these Sets, and of the values that the merge has staged. */
export async function insertDryRunIds(
  tx: Tx,
  entityId: number,
  importId: number,
  sets: readonly FoldedSet[],
  areValuesStaged = false,
): Promise<void> {
  if (areValuesStaged) await insertStagedIds(tx, entityId, importId);
  if (sets.length === 0) return;
  await tx.query(
    `INSERT INTO dry_run_ids (entity_id, import_id, customer_id, customer_type, line)
     SELECT $1, $2, customer_id, customer_type, min(line)
     FROM unnest($3::text[], $4::smallint[], $5::bigint[]) AS s (customer_id, customer_type, line) GROUP BY customer_id, customer_type
     ORDER BY customer_id COLLATE "C", customer_type ${FIRST_LINES}`,
    [
      entityId,
      importId,
      sets.map(({ customerId }) => customerId),
      sets.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
      sets.map(({ operations }) => operations[0]?.line ?? 0),
    ],
  );
}

/** A line whose id is similar to that of an earlier line; `like` null: to that of a customer. */
export type SimilarLine = Row<'dry_run_ids', 'line'> & { like: number | null };

/** Counts ids of a dry run similar to an earlier line's or a customer's, and returns at most `limit` first lines. */
export async function findSimilarLines(
  tx: Tx,
  entityId: number,
  importId: number,
  limit: number,
): Promise<{ count: number; lines: SimilarLine[] }> {
  await tx.query(LOOK_UP_BY_KEY);
  // Reads and sorts a range of the key, and looks each id up in the index customers_by_fold.
  const { rows } = await tx.query<SimilarLine & { count: number }>(
    `SELECT line, CASE WHEN nth > 1 THEN first END AS "like", count(*) OVER () AS count FROM (
       SELECT customer_id, customer_type, fold, line, row_number() OVER w AS nth, first_value(line) OVER w AS first
       FROM (
         SELECT customer_id, customer_type, line, ${foldedId('entity_id', 'customer_id')} AS fold FROM dry_run_ids
         WHERE entity_id = $1 AND import_id = $2) i
       WINDOW w AS (PARTITION BY customer_type, fold ORDER BY line)) i
     WHERE nth > 1 OR EXISTS (
       SELECT FROM customers c WHERE ${foldedId('c.entity_id', 'c.customer_id')} = i.fold AND c.customer_type = i.customer_type
         AND c.customer_id <> i.customer_id)
     ORDER BY line LIMIT $3`,
    [entityId, importId, limit],
  );
  return { count: rows[0]?.count ?? 0, lines: rows.map(({ line, like }) => ({ line, like })) };
}
