/** Finds, in all entities, jobs to start, jobs with a lost workflow, and owners that need a Schedule. */
import type { JobKey, JobKind, JobRef } from '../../domain/jobs/job.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { ENDING } from '../campaigns/campaign-runs.ts';
import type { Queryable } from '../core/database.ts';
import { isFree, STORED_JOBS } from './jobs.ts';
import type { OwnerKind } from './run-owners.ts';

export type RunningJob = JobRef & JobKey & { workflowRunId: string };

/** Lists jobs accepted over `graceSeconds` ago, oldest first, that are not claimed and wait for no other job. */
export async function listUnclaimedJobs(db: Queryable, kind: JobKind, graceSeconds: number): Promise<JobRef[]> {
  const stored = STORED_JOBS[kind];
  return readRows<JobRef>(
    await db.query(
      `SELECT entity_id, id AS job_id, identifier FROM ${stored.table} j
     WHERE state = 'accepted' AND ${stored.only ?? 'true'} AND received_at < now() - make_interval(secs => $1)
       AND ${isFree(stored)} AND ${stored.mayStart ?? 'true'}
     ORDER BY received_at LIMIT 1000`,
      [graceSeconds],
    ),
  );
}

export async function listRunningJobs(db: Queryable, kind: JobKind): Promise<RunningJob[]> {
  const { table, only = 'true' } = STORED_JOBS[kind];
  return readRows<RunningJob>(
    await db.query(
      `SELECT entity_id, id AS job_id, identifier, workflow_run_id, generation FROM ${table}
     WHERE state = 'running' AND ${only} ORDER BY received_at LIMIT 1000`,
    ),
  );
}

/** Takes the row from a workflow that Temporal has lost: steps of its generation end, and it may be claimed again. */
export async function resetJob(
  db: Queryable,
  kind: JobKind,
  { entityId, jobId, workflowRunId, generation }: RunningJob,
): Promise<boolean> {
  const { table, alsoReset } = STORED_JOBS[kind];
  const { rowCount } = await db.query(
    `WITH reset AS (
       UPDATE ${table} SET state = 'accepted', generation = generation + 1, workflow_run_id = NULL
       WHERE entity_id = $1 AND id = $2 AND state = 'running' AND workflow_run_id = $3 AND generation = $4
       RETURNING generation)${alsoReset === undefined ? '' : `, also AS (${alsoReset})`}
     SELECT FROM reset`,
    [entityId, jobId, workflowRunId, generation],
  );
  return rowCount! > 0;
}

/** Lists syncs with a run canceled over `graceSeconds` ago whose last batch is not counted yet. */
export async function listSyncsToSettle(
  db: Queryable,
  graceSeconds: number,
): Promise<{ entityId: number; syncId: number }[]> {
  // Uses the index sync_runs_canceled.
  return readRows(
    await db.query(
      `SELECT DISTINCT entity_id, sync_id FROM sync_runs
     WHERE state = 'canceled' AND ended_at IS NULL AND canceled_at < now() - make_interval(secs => $1) LIMIT 1000`,
      [graceSeconds],
    ),
  );
}

/** Ends canceled and failed campaigns that the end of their last send missed, since both committed at once. */
export async function endCampaigns(db: Queryable): Promise<void> {
  await db.query(`UPDATE campaigns c SET ended_at = now(), updated_at = now() WHERE ${ENDING}`);
}

export async function listScheduled<Owner>(
  db: Queryable,
  { table, toOwner, isScheduled }: OwnerKind<Owner>,
): Promise<{ owner: Owner; zone: string }[]> {
  return readRows(
    await db.query(
      `SELECT o.*, NULL AS creator_uid, e.default_tz FROM ${table} o JOIN entities e ON e.id = o.entity_id
     WHERE ${isScheduled} AND o.paused_at IS NULL AND o.deleted_at IS NULL ORDER BY o.entity_id, o.id`,
    ),
    (row: Row<'entities', 'defaultTz'>) => ({ owner: toOwner(row as never), zone: row.defaultTz }),
  );
}
