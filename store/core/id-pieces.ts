import type { Queryable } from './database.ts';

const PIECE_BYTES = 2 ** 20;
const PIECE_ROWS = 500;

const ROW_BYTES = 'octet_length(r::text)';

/** Yields ids of a table's rows, in order, in pieces whose rows fit into memory. Holds no connection between pieces. */
export async function* idPieces(
  db: Queryable,
  entityId: number,
  table: string,
  ids: readonly number[],
  bytes = ROW_BYTES,
): AsyncGenerator<number[]> {
  for (let start = 0; start < ids.length;) {
    const next = ids.slice(start, start + PIECE_ROWS);
    // Row by row, so that no row after the piece is measured.
    const { rows } = await db.query<{ taken: number }>(
      `WITH RECURSIVE cut AS (
         SELECT 0 AS taken, 0::bigint AS bytes
         UNION ALL
         SELECT taken + 1, cut.bytes + coalesce(
           (SELECT ${bytes} FROM ${table} r WHERE r.entity_id = $1 AND r.id = ($2::integer[])[cut.taken + 1]), 0)
         FROM cut WHERE taken < cardinality($2::integer[]) AND cut.bytes < ${PIECE_BYTES})
       SELECT max(taken) AS taken FROM cut`,
      [entityId, next],
    );
    const { taken } = rows[0]!;
    yield next.slice(0, taken);
    start += taken;
  }
}
