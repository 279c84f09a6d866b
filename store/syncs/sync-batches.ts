import type { Queryable } from '../core/database.ts';

/** A batch on its way to a destination that is not ours; `identifier` is the same each time that it is sent. */
export type PendingBatch = { identifier: string; batch: string };

/** A run has one at a time. */
export async function insertBatch(tx: Queryable, entityId: number, runId: number, { identifier, batch }: PendingBatch): Promise<void> {
  await tx.query('INSERT INTO sync_batches (entity_id, run_id, identifier, batch) VALUES ($1, $2, $3, $4)',
    [entityId, runId, identifier, batch]);
}

export async function findBatch(db: Queryable, entityId: number, runId: number): Promise<PendingBatch | null> {
  const { rows } = await db.query<PendingBatch>(
    'SELECT identifier, batch FROM sync_batches WHERE entity_id = $1 AND run_id = $2', [entityId, runId]);
  return rows[0] ?? null;
}

/** Its outcomes are noted down. */
export async function deleteBatch(tx: Queryable, entityId: number, runId: number): Promise<void> {
  await tx.query('DELETE FROM sync_batches WHERE entity_id = $1 AND run_id = $2', [entityId, runId]);
}
