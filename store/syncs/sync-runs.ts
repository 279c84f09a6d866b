import type { JobKey } from '../../domain/jobs/job.ts';
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { claimJob, endRun, type JobEnd, lockJob, lockJobToCancel } from '../jobs/jobs.ts';
import { type NewRun, type RunColumns, type SyncRun, toRun } from './sync-run-record.ts';

/** Null: the sync has a run for that scheduled time already. */
export async function insertRun(tx: Queryable, entityId: number, run: NewRun): Promise<SyncRun | null> {
  return readRow(
    await tx.query(
      `INSERT INTO sync_runs (entity_id, identifier, sync_id, cause, requested_by, scheduled_for, dry_run, dry_run_records, fresh,
       removals_confirmed, root_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (entity_id, sync_id, scheduled_for) DO NOTHING RETURNING *`,
      [
        entityId,
        newIdentifier('run'),
        run.syncId,
        run.cause,
        run.requestedBy ?? null,
        run.scheduledFor ?? null,
        run.dryRun ?? false,
        run.dryRunRecords ?? null,
        run.fresh ?? false,
        run.removalsConfirmed ?? false,
        run.rootId ?? null,
      ],
    ),
    toRun,
  );
}

/** Among so many of the last runs is whichever has not begun. */
const LAST_RUNS = 50;

/**
 * Counts a scheduled time as covered by a run that reads all that was due by then: one that has not begun yet, or began
 * since. False where there is none.
 */
export async function coverScheduledTime(
  tx: Queryable,
  entityId: number,
  syncId: number,
  scheduledFor: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE sync_runs SET covers = CASE WHEN scheduled_for = $3 OR $3 = ANY (covers) THEN covers ELSE covers || $3::timestamptz END
     WHERE entity_id = $1 AND id = (
       SELECT id FROM (SELECT * FROM sync_runs WHERE entity_id = $1 AND sync_id = $2 ORDER BY id DESC LIMIT ${LAST_RUNS}) last_runs
       WHERE NOT dry_run AND root_id IS NULL AND state <> 'canceled' AND (started_at IS NULL OR started_at >= $3)
       ORDER BY id LIMIT 1)`,
    [entityId, syncId, scheduledFor],
  );
  return rowCount === 1;
}

export async function findRun(db: Queryable, entityId: number, identifier: string): Promise<SyncRun | null> {
  return readRow(
    await db.query('SELECT * FROM sync_runs WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]),
    toRun,
  );
}

export async function findRunById(db: Queryable, entityId: number, id: number): Promise<SyncRun | null> {
  return readRow(await db.query('SELECT * FROM sync_runs WHERE entity_id = $1 AND id = $2', [entityId, id]), toRun);
}

/** A sync's runs, newest first. */
export async function listRuns(
  db: Queryable,
  entityId: number,
  syncId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<SyncRun[]> {
  return readRows(
    await db.query(
      'SELECT * FROM sync_runs WHERE entity_id = $1 AND sync_id = $2 ORDER BY id DESC OFFSET $3 LIMIT $4',
      [entityId, syncId, offset, limit],
    ),
    toRun,
  );
}

export async function countRuns(db: Queryable, entityId: number, syncId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*) FROM sync_runs WHERE entity_id = $1 AND sync_id = $2',
    [entityId, syncId],
  );
  return rows[0]!.count;
}

/** The last run of each of some syncs, dry runs left out, by the sync's id. */
export async function findLastRuns(db: Queryable, entityId: number, syncIds: number[]): Promise<Map<number, SyncRun>> {
  // One look into sync_runs_of_sync for each.
  const runs = readRows(
    await db.query(
      `SELECT r.* FROM unnest($2::integer[]) AS asked (sync_id) CROSS JOIN LATERAL (
       SELECT * FROM sync_runs WHERE entity_id = $1 AND sync_id = asked.sync_id AND NOT dry_run ORDER BY id DESC LIMIT 1) r`,
      [entityId, syncIds],
    ),
    toRun,
  );
  return new Map(runs.map((run) => [run.syncId, run]));
}

/**
 * The fields that the finished run before this one missed, dry runs and re-drives left out; null where there is none.
 */
export async function findMissingFieldsBefore(
  db: Queryable,
  { entityId, syncId, id }: SyncRun,
): Promise<string[] | null> {
  const { rows } = await db.query<{ missing_fields: string[] }>(
    `SELECT missing_fields FROM sync_runs
     WHERE entity_id = $1 AND sync_id = $2 AND id < $3 AND NOT dry_run AND root_id IS NULL AND state = 'finished' ORDER BY id DESC LIMIT 1`,
    [entityId, syncId, id],
  );
  return rows[0]?.missing_fields ?? null;
}

/** The identifier of a run that has begun and not ended, dry runs left out; null where there is none. */
export async function findRunUnderWay(db: Queryable, entityId: number, syncId: number): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM sync_runs
     WHERE entity_id = $1 AND sync_id = $2 AND NOT dry_run AND (state = 'running' OR (state = 'accepted' AND is_begun)) LIMIT 1`,
    [entityId, syncId],
  );
  return rows[0]?.identifier ?? null;
}

/**
 * As `claimJob`: a run that had begun, and was taken from a lost workflow, goes on first, since what it has seen must
 * not be seen by a later one in between. One that begins takes the cursor of its sync. `tx` holds the sync.
 */
export async function claimRun(tx: Tx, entityId: number, id: number, workflowRunId: string): Promise<SyncRun | null> {
  const row = await claimJob<RunColumns>(tx, 'sync', { entityId, jobId: id }, workflowRunId);
  if (!row || row.isBegun || row.fresh || row.rootId !== null) return row && toRun(row);
  return readRow(
    await tx.query(
      `UPDATE sync_runs r SET cursor_before = (SELECT cursor FROM syncs s WHERE s.entity_id = $1 AND s.id = r.sync_id)
     WHERE entity_id = $1 AND id = $2 RETURNING *`,
      [entityId, id],
    ),
    toRun,
  );
}

export async function lockRun(tx: Tx, key: JobKey): Promise<SyncRun | null> {
  const row = await lockJob<RunColumns>(tx, 'sync', key);
  return row && toRun(row);
}

/** The same for a batch that is on its way: its outcomes count also where the run was canceled meanwhile. */
export async function lockRunOfBatch(tx: Tx, key: JobKey): Promise<SyncRun | null> {
  const row = await lockJob<RunColumns>(tx, 'sync', key, { states: ['running', 'canceled'] });
  return row && toRun(row);
}

/** Canceled runs of a sync that had a batch on its way, oldest first; held until the transaction ends. */
export async function lockRunsWithAbandonedBatches(tx: Tx, entityId: number, syncId: number): Promise<SyncRun[]> {
  return readRows(
    await tx.query(
      `SELECT * FROM sync_runs r WHERE entity_id = $1 AND sync_id = $2 AND state = 'canceled'
       AND EXISTS (SELECT FROM sync_batches b WHERE b.entity_id = $1 AND b.run_id = r.id)
     ORDER BY id FOR NO KEY UPDATE OF r`,
      [entityId, syncId],
    ),
    toRun,
  );
}

/** Ends a locked run. What the destination has not answered of its last batch is read again by the next run. */
export async function updateRunEnded(tx: Queryable, run: SyncRun, end: JobEnd): Promise<void> {
  await endRun(tx, 'sync', run, end);
  await tx.query(
    `WITH unpinned AS (DELETE FROM sync_pinned_batches WHERE entity_id = $1 AND run_id = $2)
     DELETE FROM sync_batches WHERE entity_id = $1 AND run_id = $2`,
    [run.entityId, run.id],
  );
}

/** A canceled run (`r`) with a batch on its way ends once the outcomes of that batch are recorded. */
const CANCELED = `state = 'canceled', canceled_at = now(), waits_until = NULL, ended_at = CASE WHEN NOT EXISTS (
  SELECT FROM sync_batches b WHERE b.entity_id = r.entity_id AND b.run_id = r.id) THEN now() END`;

/** Ends a run where it stands: what it wrote stays. Null for an unknown one, false for one that has ended. */
export async function cancelRun(tx: Queryable, entityId: number, identifier: string): Promise<SyncRun | false | null> {
  const row = await lockJobToCancel<RunColumns>(tx, 'sync', entityId, identifier);
  if (!row) return row;
  const run = toRun(row);
  await tx.query(
    `WITH unpinned AS (DELETE FROM sync_pinned_batches WHERE entity_id = $1 AND run_id = $2)
     UPDATE sync_runs r SET ${CANCELED} WHERE entity_id = $1 AND id = $2`,
    [entityId, run.id],
  );
  return run;
}

/** Cancels the runs that have not begun, or all that are under way, with their batches: the sync is deleted. */
export async function cancelRunsOf(
  tx: Queryable,
  entityId: number,
  syncId: number,
  which: 'scheduled' | 'all',
): Promise<void> {
  await tx.query(
    `WITH canceled AS (
       UPDATE sync_runs r SET ${CANCELED}
       WHERE entity_id = $1 AND sync_id = $2 AND CASE WHEN $3 THEN state IN ('accepted', 'running')
         ELSE state = 'accepted' AND cause = 'schedule' END
       RETURNING id)
     DELETE FROM sync_pinned_batches b USING canceled WHERE b.entity_id = $1 AND b.run_id = canceled.id`,
    [entityId, syncId, which === 'all'],
  );
  if (which === 'scheduled') return;
  await tx.query(
    `WITH ended AS (
       UPDATE sync_runs SET ended_at = now() WHERE entity_id = $1 AND sync_id = $2 AND state = 'canceled' AND ended_at IS NULL
       RETURNING id)
     DELETE FROM sync_batches b USING ended WHERE b.entity_id = $1 AND b.run_id = ended.id`,
    [entityId, syncId],
  );
}

/** The identifier of a run that was asked for and has not begun; null where there is none. */
export async function findWaitingRun(
  db: Queryable,
  entityId: number,
  syncId: number,
  isDryRun: boolean,
): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM sync_runs
     WHERE entity_id = $1 AND sync_id = $2 AND state = 'accepted' AND cause = 'request' AND dry_run = $3 LIMIT 1`,
    [entityId, syncId, isDryRun],
  );
  return rows[0]?.identifier ?? null;
}

/** The same for a re-drive of a run, begun or not. */
export async function findWaitingRedrive(db: Queryable, entityId: number, rootId: number): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM sync_runs WHERE entity_id = $1 AND root_id = $2 AND state IN ('accepted', 'running') LIMIT 1`,
    [entityId, rootId],
  );
  return rows[0]?.identifier ?? null;
}
