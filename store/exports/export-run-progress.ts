/** Progress of exporters' runs: attempts, publication, late rows, and cleaning of the bucket. */
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { NO_TROUBLE } from '../jobs/jobs.ts';

/** A run as one attempt at its files has it: steps of an older one end without effect. */
export type AttemptKey = { entityId: number; jobId: number; generation: number; attempt: number };

/** Begins an attempt at a run's files and returns its number, new in their folder; null if the run is over. */
export async function raiseAttempt(
  tx: Tx,
  { entityId, jobId, generation }: Omit<AttemptKey, 'attempt'>,
): Promise<number | null> {
  // Two attempts at once wait for each other at the row; the later one sees what the other has made of `r`.
  const { rows } = await tx.query<Row<'export_runs', 'attempt'>>(
    `UPDATE export_runs r SET is_cleaned = false, attempt = 1 + greatest(r.attempt, (
       SELECT max(o.attempt) FROM export_runs o WHERE o.entity_id = $1 AND o.exporter_id = r.exporter_id
         AND o.window_end = r.window_end AND o.definition->>'folder' = r.definition->>'folder'))
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' RETURNING attempt`,
    [entityId, jobId, generation],
  );
  return rows[0]?.attempt ?? null;
}

/** Returns false if another attempt or generation has taken over, or the run has ended. `isLocked`: locks the run. */
export async function isAttemptCurrent(
  db: Queryable,
  { entityId, jobId, generation, attempt }: AttemptKey,
  { isLocked = false } = {},
): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM export_runs WHERE entity_id = $1 AND id = $2 AND generation = $3 AND attempt = $4 AND state = 'running'
     ${isLocked ? 'FOR NO KEY UPDATE' : ''}`,
    [entityId, jobId, generation, attempt],
  );
  return rowCount === 1;
}

const SAME_FOLDER = ['folder', 'bucketName', 'endpoint']
  .map((member) => `r.definition->>'${member}' IS NOT DISTINCT FROM c.definition->>'${member}'`)
  .join(' AND ');

type Key = { entityId: number; jobId: number };

/** Stores the hash of a run's encryption key with its first attempt; returns false if it was another. */
export async function keepKeyHash(tx: Tx, { entityId, jobId }: Key, hash: string): Promise<boolean> {
  const { rows } = await tx.query<{ is_same: boolean }>(
    `UPDATE export_runs SET definition = jsonb_build_object('keyHash', $3::text) || definition
     WHERE entity_id = $1 AND id = $2 RETURNING definition->>'keyHash' = $3 AS is_same`,
    [entityId, jobId, hash],
  );
  return rows[0]!.is_same;
}

export async function updateFaultGone(tx: Tx, { entityId, jobId }: Key): Promise<void> {
  await tx.query(
    `UPDATE export_runs SET ${NO_TROUBLE}
     WHERE entity_id = $1 AND id = $2 AND (tries, fault, waits_until) IS DISTINCT FROM (0, NULL::text, NULL::timestamptz)`,
    [entityId, jobId],
  );
}

export async function updatePublished(
  tx: Tx,
  { entityId, jobId }: Key,
  { key, sha256 }: { key: string; sha256: Buffer },
): Promise<void> {
  await tx.query(
    'UPDATE export_runs SET manifest_key = $3, manifest_sha256 = $4, published_at = now() WHERE entity_id = $1 AND id = $2',
    [entityId, jobId, key, sha256],
  );
}

export async function addLateRowsFound(tx: Tx, { entityId, jobId }: Key, rows: number): Promise<void> {
  await tx.query('UPDATE export_runs SET late_rows_found = late_rows_found + $3 WHERE entity_id = $1 AND id = $2', [
    entityId,
    jobId,
    rows,
  ]);
}

export async function findLateRowsFound(db: Queryable, { entityId, jobId }: Key): Promise<number> {
  const rows = readRows<Row<'export_runs', 'lateRowsFound'>>(
    await db.query('SELECT late_rows_found FROM export_runs WHERE entity_id = $1 AND id = $2', [entityId, jobId]),
  );
  return rows[0]?.lateRowsFound ?? 0;
}

/** Lists ended runs that may have left files in the bucket that no manifest names, oldest first. */
export async function listRunsToClean(db: Queryable, entityId: number, exporterId: number): Promise<number[]> {
  const { rows } = await db.query<Row<'export_runs', 'id'>>(
    `SELECT id FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 AND attempt > 0 AND NOT is_cleaned
       AND state NOT IN ('accepted', 'running') ORDER BY id LIMIT 100`,
    [entityId, exporterId],
  );
  return rows.map(({ id }) => id);
}

/** Records that the folder of a run, or of runs before it there, holds only files that a manifest names. */
export async function updateCleaned(tx: Tx, { entityId, jobId }: Key): Promise<void> {
  await tx.query(
    `WITH cleaned AS (UPDATE export_runs SET is_cleaned = true WHERE entity_id = $1 AND id = $2 RETURNING *)
     UPDATE export_files f SET removed_at = now() FROM cleaned c, export_runs r
     WHERE f.entity_id = $1 AND f.run_id = r.id AND f.removed_at IS NULL AND r.entity_id = $1 AND r.exporter_id = c.exporter_id
       AND CASE WHEN c.state <> 'finished' THEN r.id = c.id
         ELSE r.attempt < c.attempt AND r.state NOT IN ('accepted', 'running') AND r.window_end = c.window_end
           AND ${SAME_FOLDER} END`,
    [entityId, jobId],
  );
}

/** Lists the newest finished run of each of an exporter's last windows before one's end, newest first. */
export async function listLastWindows(
  db: Queryable,
  entityId: number,
  exporterId: number,
  { before, limit }: { before: Date; limit: number },
): Promise<number[]> {
  // Uses export_runs_by_window, from its end.
  const { rows } = await db.query<Row<'export_runs', 'id'>>(
    `SELECT DISTINCT ON (window_end, window_start) id FROM export_runs
     WHERE entity_id = $1 AND exporter_id = $2 AND state = 'finished' AND NOT is_covered AND published_at IS NOT NULL
       AND days IS NULL AND window_end <= $3
     ORDER BY window_end DESC, window_start DESC, id DESC LIMIT $4`,
    [entityId, exporterId, before, limit],
  );
  return rows.map(({ id }) => id);
}

export async function findFinishedBefore(
  db: Queryable,
  { entityId, id }: { entityId: number; id: number },
): Promise<number | null> {
  const { rows } = await db.query<Row<'export_runs', 'id'>>(
    `SELECT r.id FROM export_runs r, export_runs c
     WHERE c.entity_id = $1 AND c.id = $2 AND r.entity_id = $1 AND r.exporter_id = c.exporter_id AND r.window_end = c.window_end
       AND r.state = 'finished' AND r.published_at IS NOT NULL AND r.attempt < c.attempt AND ${SAME_FOLDER}
     ORDER BY r.attempt DESC LIMIT 1`,
    [entityId, id],
  );
  return rows[0]?.id ?? null;
}
