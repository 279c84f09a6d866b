import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** A batch of a run, as its source gave it: `items` is JSON. */
export type PinnedBatch = Row<'sync_pinned_batches', 'number' | 'recordsBefore' | 'position' | 'items'>;

export async function insertPinnedBatch(
  tx: Queryable,
  entityId: number,
  runId: number,
  batch: PinnedBatch,
): Promise<void> {
  await tx.query(
    'INSERT INTO sync_pinned_batches (entity_id, run_id, number, records_before, position, items) VALUES ($1, $2, $3, $4, $5, $6)',
    [entityId, runId, batch.number, batch.recordsBefore, batch.position, batch.items],
  );
}

export async function listPinnedBatches(db: Queryable, entityId: number, runId: number): Promise<PinnedBatch[]> {
  return readRows<PinnedBatch>(
    await db.query(
      `SELECT number, records_before, position, items FROM sync_pinned_batches
       WHERE entity_id = $1 AND run_id = $2 ORDER BY number`,
      [entityId, runId],
    ),
  );
}

export async function deletePinnedBatch(tx: Queryable, entityId: number, runId: number, number: number): Promise<void> {
  await tx.query('DELETE FROM sync_pinned_batches WHERE entity_id = $1 AND run_id = $2 AND number = $3', [
    entityId,
    runId,
    number,
  ]);
}
