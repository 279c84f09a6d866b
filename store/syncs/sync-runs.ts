import type { JobRef } from '../../domain/jobs/job.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { type NewRun, type RunAlert, type RunRow, type RunState, type SyncRun, toRun } from './sync-run-record.ts';

/** A run as one workflow holds it: steps of an older generation end without effect. */
export type RunKey = { entityId: number; runId: number; generation: number };

/** Null: the sync has a run for that scheduled time already. */
export async function insertRun(tx: Queryable, entityId: number, run: NewRun): Promise<SyncRun | null> {
  const { rows } = await tx.query<RunRow>(
    `INSERT INTO sync_runs (entity_id, identifier, sync_id, cause, requested_by, scheduled_for, dry_run, dry_run_records, fresh,
       removals_confirmed, root_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (entity_id, sync_id, scheduled_for) DO NOTHING RETURNING *`,
    [entityId, newIdentifier('run'), run.syncId, run.cause, run.requestedBy ?? null, run.scheduledFor ?? null,
      run.dryRun ?? false, run.dryRunRecords ?? null, run.fresh ?? false, run.removalsConfirmed ?? false, run.rootId ?? null]);
  return rows[0] ? toRun(rows[0]) : null;
}

/** Among so many of the last runs is whichever has not begun. */
const LAST_RUNS = 50;

/**
 * Counts a scheduled time as covered by a run that reads all that was due by then: one that has not begun yet, or began
 * since. False where there is none.
 */
export async function coverScheduledTime(tx: Queryable, entityId: number, syncId: number, scheduledFor: Date): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE sync_runs SET covers = CASE WHEN scheduled_for = $3 OR $3 = ANY (covers) THEN covers ELSE covers || $3::timestamptz END
     WHERE entity_id = $1 AND id = (
       SELECT id FROM (SELECT * FROM sync_runs WHERE entity_id = $1 AND sync_id = $2 ORDER BY id DESC LIMIT ${LAST_RUNS}) last_runs
       WHERE NOT dry_run AND root_id IS NULL AND state <> 'canceled' AND (started_at IS NULL OR started_at >= $3)
       ORDER BY id LIMIT 1)`, [entityId, syncId, scheduledFor]);
  return rowCount === 1;
}

export async function findRun(db: Queryable, entityId: number, identifier: string): Promise<SyncRun | null> {
  const { rows } = await db.query<RunRow>('SELECT * FROM sync_runs WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]);
  return rows[0] ? toRun(rows[0]) : null;
}

export async function findRunById(db: Queryable, entityId: number, id: number): Promise<SyncRun | null> {
  const { rows } = await db.query<RunRow>('SELECT * FROM sync_runs WHERE entity_id = $1 AND id = $2', [entityId, id]);
  return rows[0] ? toRun(rows[0]) : null;
}

/** A sync's runs, newest first. */
export async function listRuns(
  db: Queryable, entityId: number, syncId: number, { offset, limit }: { offset: number; limit: number },
): Promise<SyncRun[]> {
  const { rows } = await db.query<RunRow>(
    'SELECT * FROM sync_runs WHERE entity_id = $1 AND sync_id = $2 ORDER BY id DESC OFFSET $3 LIMIT $4', [entityId, syncId, offset, limit]);
  return rows.map(toRun);
}

export async function countRuns(db: Queryable, entityId: number, syncId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*) FROM sync_runs WHERE entity_id = $1 AND sync_id = $2', [entityId, syncId]);
  return rows[0]!.count;
}

/** The last run of each of some syncs, dry runs left out, by the sync's id. */
export async function findLastRuns(db: Queryable, entityId: number, syncIds: number[]): Promise<Map<number, SyncRun>> {
  // One look into sync_runs_of_sync for each.
  const { rows } = await db.query<RunRow>(
    `SELECT r.* FROM unnest($2::integer[]) AS asked (sync_id) CROSS JOIN LATERAL (
       SELECT * FROM sync_runs WHERE entity_id = $1 AND sync_id = asked.sync_id AND NOT dry_run ORDER BY id DESC LIMIT 1) r`,
    [entityId, syncIds]);
  return new Map(rows.map((row) => [row.sync_id, toRun(row)]));
}

/** The oldest run of a sync that waits to be started, where none is running. */
export async function findNextRun(db: Queryable, entityId: number, syncId: number): Promise<JobRef | null> {
  const { rows } = await db.query<{ id: number; identifier: string }>(
    `SELECT id, identifier FROM sync_runs r WHERE entity_id = $1 AND sync_id = $2 AND state = 'accepted' AND NOT dry_run
       AND NOT EXISTS (SELECT FROM sync_runs o WHERE o.entity_id = $1 AND o.sync_id = $2 AND o.state = 'running' AND NOT o.dry_run)
     ORDER BY id LIMIT 1`, [entityId, syncId]);
  return rows[0] ? { entityId, runId: rows[0].id, identifier: rows[0].identifier } : null;
}

/** The identifier of a run that has begun and not ended, dry runs left out; null where there is none. */
export async function findRunUnderWay(db: Queryable, entityId: number, syncId: number): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM sync_runs
     WHERE entity_id = $1 AND sync_id = $2 AND NOT dry_run AND (state = 'running' OR (state = 'accepted' AND is_begun)) LIMIT 1`,
    [entityId, syncId]);
  return rows[0]?.identifier ?? null;
}

/**
 * Makes the row this workflow run's; a repeat by the same run succeeds. Null when it is another's, has ended, or another run
 * of the sync is under way, or was there before: one that had begun, and was taken from a lost workflow, goes on first, since
 * what it has seen must not be seen by a later one in between. `tx` holds the sync.
 */
export async function claimRun(tx: Tx, entityId: number, id: number, runId: string): Promise<SyncRun | null> {
  const { rows } = await tx.query<RunRow>(
    `UPDATE sync_runs r SET state = 'running', run_id = $3, started_at = coalesce(started_at, now()),
       cursor_before = CASE WHEN r.is_begun OR r.fresh OR r.root_id IS NOT NULL THEN r.cursor_before
         ELSE (SELECT cursor FROM syncs s WHERE s.entity_id = $1 AND s.id = r.sync_id) END
     WHERE entity_id = $1 AND id = $2 AND (state = 'accepted' OR (state = 'running' AND run_id = $3))
       AND (dry_run OR NOT EXISTS (
         SELECT FROM sync_runs o WHERE o.entity_id = $1 AND o.sync_id = r.sync_id AND NOT o.dry_run AND o.id <> $2
           AND (o.state = 'running' OR (o.state = 'accepted' AND o.id < $2))))
     RETURNING *`, [entityId, id, runId]);
  return rows[0] ? toRun(rows[0]) : null;
}

/** Holds the row until the transaction ends. Null when another generation has taken over, or it has ended. */
export async function lockRun(tx: Tx, { entityId, runId, generation }: RunKey): Promise<SyncRun | null> {
  const { rows } = await tx.query<RunRow>(
    `SELECT * FROM sync_runs WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' FOR NO KEY UPDATE`,
    [entityId, runId, generation]);
  return rows[0] ? toRun(rows[0]) : null;
}

/** The same for a batch that is on its way: its outcomes count also where the run was canceled meanwhile. */
export async function lockRunOfBatch(tx: Tx, { entityId, runId, generation }: RunKey): Promise<SyncRun | null> {
  const { rows } = await tx.query<RunRow>(
    `SELECT * FROM sync_runs WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state IN ('running', 'canceled')
     FOR NO KEY UPDATE`, [entityId, runId, generation]);
  return rows[0] ? toRun(rows[0]) : null;
}

/** Canceled runs of a sync that had a batch on its way, oldest first; held until the transaction ends. */
export async function lockRunsWithAbandonedBatches(tx: Tx, entityId: number, syncId: number): Promise<SyncRun[]> {
  const { rows } = await tx.query<RunRow>(
    `SELECT * FROM sync_runs r WHERE entity_id = $1 AND sync_id = $2 AND state = 'canceled'
       AND EXISTS (SELECT FROM sync_batches b WHERE b.entity_id = $1 AND b.run_id = r.id)
     ORDER BY id FOR NO KEY UPDATE OF r`, [entityId, syncId]);
  return rows.map(toRun);
}

/** Whether a step of this generation may still go on. */
export async function isRunCurrent(db: Queryable, { entityId, runId, generation }: RunKey): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM sync_runs WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`, [entityId, runId, generation]);
  return rowCount === 1;
}

export type RunEnd = { state: RunState; failure: SyncRun['failure']; alert: RunAlert | null };

/**
 * Ends a locked run. A batch that has not gone through then is read again by the next, after a failure; one that was on its way
 * when the run was canceled is left, until somebody notes down that its fate is unknown.
 */
export async function updateRunEnded(tx: Queryable, { entityId, id }: SyncRun, { state, failure, alert }: RunEnd): Promise<void> {
  await tx.query(
    `WITH let_go AS (DELETE FROM sync_batches WHERE entity_id = $1 AND run_id = $2 AND $3 <> 'canceled'),
       unpinned AS (DELETE FROM sync_pinned_batches WHERE entity_id = $1 AND run_id = $2)
     UPDATE sync_runs SET state = $3, ended_at = now(), failure_status = $4, failure = $5, alert = $6, waits_until = NULL
     WHERE entity_id = $1 AND id = $2`, [entityId, id, state, failure?.status ?? null, failure?.message ?? null, alert]);
}

/** Ends a run where it stands: what it wrote stays. Null for an unknown one, false for one that has ended. */
export async function cancelRun(tx: Queryable, entityId: number, identifier: string): Promise<SyncRun | false | null> {
  const { rows } = await tx.query<RunRow>(
    'SELECT * FROM sync_runs WHERE entity_id = $1 AND identifier = $2 FOR NO KEY UPDATE', [entityId, identifier]);
  if (!rows[0]) return null;
  const run = toRun(rows[0]);
  if (run.state !== 'accepted' && run.state !== 'running') return false;
  await updateRunEnded(tx, run, { state: 'canceled', failure: null, alert: null });
  return run;
}

/** Those that have not begun, or all that are under way: of these, what was on its way is let go. */
export async function cancelRunsOf(tx: Queryable, entityId: number, syncId: number, which: 'scheduled' | 'all'): Promise<void> {
  await tx.query(
    `WITH canceled AS (
       UPDATE sync_runs SET state = 'canceled', ended_at = now()
       WHERE entity_id = $1 AND sync_id = $2 AND CASE WHEN $3 THEN state IN ('accepted', 'running')
         ELSE state = 'accepted' AND cause = 'schedule' END
       RETURNING id),
     unpinned AS (DELETE FROM sync_pinned_batches b USING canceled WHERE b.entity_id = $1 AND b.run_id = canceled.id)
     DELETE FROM sync_batches b USING canceled WHERE b.entity_id = $1 AND b.run_id = canceled.id AND $3`,
    [entityId, syncId, which === 'all']);
}

/** The identifier of a run that was asked for and has not begun; null where there is none. */
export async function findWaitingRun(db: Queryable, entityId: number, syncId: number, isDryRun: boolean): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM sync_runs
     WHERE entity_id = $1 AND sync_id = $2 AND state = 'accepted' AND cause = 'request' AND dry_run = $3 LIMIT 1`,
    [entityId, syncId, isDryRun]);
  return rows[0]?.identifier ?? null;
}

/** The same for a re-drive of a run, begun or not. */
export async function findWaitingRedrive(db: Queryable, entityId: number, rootId: number): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM sync_runs WHERE entity_id = $1 AND root_id = $2 AND state IN ('accepted', 'running') LIMIT 1`,
    [entityId, rootId]);
  return rows[0]?.identifier ?? null;
}

/** Identifiers of some runs by their ids. */
export async function listRunIdentifiers(db: Queryable, entityId: number, ids: number[]): Promise<Map<number, string>> {
  const { rows } = await db.query<{ id: number; identifier: string }>(
    'SELECT id, identifier FROM sync_runs WHERE entity_id = $1 AND id = ANY ($2)', [entityId, ids]);
  return new Map(rows.map(({ id, identifier }) => [id, identifier]));
}
