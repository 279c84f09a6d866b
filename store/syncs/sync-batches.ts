/** The batches of a run that are on their way to another connection: one is being sent, the next one waits. */
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { NO_TROUBLE } from '../jobs/jobs.ts';

/** `identifier` stays the same when the batch is sent again; `outcomes` are JSON. */
export type PendingBatch = Row<'sync_batches', 'identifier' | 'batch' | 'outcomes' | 'sent' | 'recordsBefore'>;

/** Names a batch of a run by the number of records before it. */
export type BatchRef = { entityId: number; runId: number; recordsBefore: number };

/**
 * Stores a batch of a run, which the caller has locked. `sent`: 0 until `updateBatchBegun`, null if it is sent at once.
 * Returns false if it does not follow the run's last batch: another attempt has advanced the run.
 */
export async function insertBatch(
  tx: Queryable,
  { entityId, runId, recordsBefore }: BatchRef,
  { identifier, batch, records, sent }: Row<'sync_batches', 'identifier' | 'batch' | 'records' | 'sent'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO sync_batches (entity_id, run_id, records_before, records, identifier, batch, sent)
     SELECT $1, $2, $3, $4, $5, $6, $7
     WHERE $3 = coalesce(
       (SELECT max(records_before + records) FROM sync_batches WHERE entity_id = $1 AND run_id = $2),
       (SELECT records_read FROM sync_runs WHERE entity_id = $1 AND id = $2))
     ON CONFLICT (entity_id, run_id, records_before) DO NOTHING`,
    [entityId, runId, recordsBefore, records, identifier, batch, sent],
  );
  return rowCount === 1;
}

/** Returns the first batch of a run that is on its way; `lock`: once no other transaction changes it. */
export async function findBatch(
  db: Queryable,
  entityId: number,
  runId: number,
  { lock = false } = {},
): Promise<PendingBatch | null> {
  const rows = readRows<PendingBatch>(
    await db.query(
      `SELECT identifier, batch, outcomes, sent, records_before FROM sync_batches WHERE entity_id = $1 AND run_id = $2
       ORDER BY records_before LIMIT 1 ${lock ? 'FOR UPDATE' : ''}`,
      [entityId, runId],
    ),
  );
  return rows[0] ?? null;
}

const THIS = 'entity_id = $1 AND run_id = $2 AND records_before = $3';
const valuesOf = ({ entityId, runId, recordsBefore }: BatchRef) => [entityId, runId, recordsBefore];

/** Stores the outcomes so far; source and destination then count as well. */
export async function updateBatchOutcomes(
  tx: Queryable,
  batch: BatchRef,
  { outcomes, answered, share }: { outcomes: string; answered: number; share: number | null },
): Promise<void> {
  await tx.query(
    `WITH noted AS (UPDATE sync_batches SET outcomes = $4 WHERE ${THIS} RETURNING run_id)
     UPDATE sync_runs SET answered = $5, share = $6, ${NO_TROUBLE}
     WHERE entity_id = $1 AND id IN (SELECT run_id FROM noted)`,
    [...valuesOf(batch), outcomes, answered, share],
  );
}

/** Sets how many of its first records may have left in a try that has ended; null: any. */
export async function updateBatchSent(tx: Queryable, batch: BatchRef, sent: number | null): Promise<void> {
  await tx.query(`UPDATE sync_batches SET sent = $4 WHERE ${THIS}`, [...valuesOf(batch), sent]);
}

/**
 * Records that a batch is sent from now on, and returns how many of its records may have left before. Returns undefined
 * if another generation has the run, or it has ended.
 */
export async function updateBatchBegun(
  tx: Queryable,
  batch: BatchRef,
  generation: number,
): Promise<number | null | undefined> {
  const { rows } = await tx.query<{ sent: number | null }>(
    `UPDATE sync_batches b SET sent = NULL
     FROM (SELECT entity_id, run_id, records_before, sent FROM sync_batches WHERE ${THIS} FOR UPDATE) was
     WHERE b.entity_id = was.entity_id AND b.run_id = was.run_id AND b.records_before = was.records_before AND EXISTS (
       SELECT FROM sync_runs WHERE entity_id = $1 AND id = $2 AND generation = $4 AND state = 'running')
     RETURNING was.sent`,
    [...valuesOf(batch), generation],
  );
  return rows[0]?.sent;
}

/** Replaces what is stored of a batch. */
export async function updateBatch(tx: Queryable, ref: BatchRef, batch: string): Promise<void> {
  await tx.query(`UPDATE sync_batches SET batch = $4 WHERE ${THIS}`, [...valuesOf(ref), batch]);
}

/**
 * Deletes a batch once its outcomes are recorded; a canceled run has ended with its last one. Returns false if it is
 * gone.
 */
export async function deleteBatch(tx: Queryable, batch: BatchRef): Promise<boolean> {
  const { rowCount } = await tx.query(
    `WITH ended AS (
       UPDATE sync_runs SET ended_at = now() WHERE entity_id = $1 AND id = $2 AND state = 'canceled' AND ended_at IS NULL
         AND NOT EXISTS (SELECT FROM sync_batches WHERE entity_id = $1 AND run_id = $2 AND records_before <> $3))
     DELETE FROM sync_batches WHERE ${THIS}`,
    valuesOf(batch),
  );
  return rowCount === 1;
}
