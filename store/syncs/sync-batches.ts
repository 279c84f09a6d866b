/** The batch of a run that is being sent to another connection. */
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { NO_TROUBLE } from '../jobs/jobs.ts';

/** A batch on its way to another system: `identifier` stays the same when it is sent again; `outcomes` are JSON. */
export type PendingBatch = Row<'sync_batches', 'identifier' | 'batch' | 'outcomes' | 'sent'>;

/** Stores the batch of a run, which has one at a time; returns false if it has one already. */
export async function insertBatch(
  tx: Queryable,
  entityId: number,
  runId: number,
  { identifier, batch }: Omit<PendingBatch, 'outcomes' | 'sent'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO sync_batches (entity_id, run_id, identifier, batch) VALUES ($1, $2, $3, $4)
     ON CONFLICT (entity_id, run_id) DO NOTHING`,
    [entityId, runId, identifier, batch],
  );
  return rowCount === 1;
}

export async function findBatch(db: Queryable, entityId: number, runId: number): Promise<PendingBatch | null> {
  const { rows } = await db.query<PendingBatch>(
    'SELECT identifier, batch, outcomes, sent FROM sync_batches WHERE entity_id = $1 AND run_id = $2',
    [entityId, runId],
  );
  return rows[0] ?? null;
}

/** Stores the outcomes so far; source and destination then count as well. */
export async function updateBatchOutcomes(
  tx: Queryable,
  entityId: number,
  runId: number,
  { outcomes, answered, share }: { outcomes: string; answered: number; share: number | null },
): Promise<void> {
  await tx.query(
    `WITH noted AS (UPDATE sync_batches SET outcomes = $3 WHERE entity_id = $1 AND run_id = $2 RETURNING run_id)
     UPDATE sync_runs SET answered = $4, share = $5, ${NO_TROUBLE}
     WHERE entity_id = $1 AND id IN (SELECT run_id FROM noted)`,
    [entityId, runId, outcomes, answered, share],
  );
}

/** Sets how many of its first records may have left; null before they are sent again. */
export async function updateBatchSent(
  tx: Queryable,
  entityId: number,
  runId: number,
  sent: number | null,
): Promise<void> {
  await tx.query('UPDATE sync_batches SET sent = $3 WHERE entity_id = $1 AND run_id = $2', [entityId, runId, sent]);
}

/**
 * Deletes the batch of a run once its outcomes are recorded; a canceled run has ended with this. Returns false if there
 * is none.
 */
export async function deleteBatch(tx: Queryable, entityId: number, runId: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `WITH ended AS (
       UPDATE sync_runs SET ended_at = now() WHERE entity_id = $1 AND id = $2 AND state = 'canceled' AND ended_at IS NULL)
     DELETE FROM sync_batches WHERE entity_id = $1 AND run_id = $2`,
    [entityId, runId],
  );
  return rowCount === 1;
}
