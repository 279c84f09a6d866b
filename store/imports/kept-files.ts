import type { KeptFiles } from '../../domain/imports/kept-files.ts';
import type { Queryable, Tx } from '../core/database.ts';

/** First key of the advisory lock on the sum of an entity's kept files; the second is the entity's id. */
const KEPT_FILES_LOCK = 1_750_024;

/** Sums up the kept files of an entity and of one of its Systems of Records. Reads only the index imports_kept. */
export async function sumKeptFiles(db: Queryable, entityId: number, sorId: number): Promise<KeptFiles> {
  const { rows } = await db.query<{
    of_entity: number;
    of_sor: number;
    entity_frees_at: Date | null;
    sor_frees_at: Date | null;
  }>(
    `SELECT coalesce(sum(file_bytes), 0)::bigint AS of_entity, min(ended_at) + interval '7 days' AS entity_frees_at,
       coalesce(sum(file_bytes) FILTER (WHERE sor_id = $2), 0)::bigint AS of_sor,
       min(ended_at) FILTER (WHERE sor_id = $2) + interval '7 days' AS sor_frees_at
     FROM imports
     WHERE entity_id = $1 AND file_key IS NOT NULL AND file_erased_at IS NULL AND state IN ('accepted', 'running', 'finished')`,
    [entityId, sorId],
  );
  const { of_entity: ofEntity, of_sor: ofSor, entity_frees_at: entityFreesAt, sor_frees_at: sorFreesAt } = rows[0]!;
  return { ofSor: { bytes: ofSor, freesAt: sorFreesAt }, ofEntity: { bytes: ofEntity, freesAt: entityFreesAt } };
}

/** As `sumKeptFiles`. Until the transaction ends no other file of the entity is added under this lock. */
export async function lockKeptFiles(tx: Tx, entityId: number, sorId: number): Promise<KeptFiles> {
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [KEPT_FILES_LOCK, entityId]);
  return sumKeptFiles(tx, entityId, sorId);
}
