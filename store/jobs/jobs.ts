/** Jobs of all kinds: claims, locks, changes, cancels and ends them. */
import { JobGone, type JobKey, type JobKind, type JobRef, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import type { NextTry } from '../../domain/jobs/patience.ts';
import { readRow } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { HAS_TURN } from '../gdpr/device-requests.ts';

/**
 * The one lifecycle of jobs: accepted, running, ended. A step of an older generation ends without effect. Each kind has
 * a table with entity_id, id, identifier, state, received_at, started_at, workflow_run_id and generation.
 */
export type StoredKind = {
  table: string;
  /** Condition, if other kinds are in the same table. */
  only?: string;
  /** A condition on an accepted job `j` that may be started. */
  mayStart?: string;
  /** The owner's column; jobs of one owner run one after another, in the order of their ids. */
  owner?: string;
  /** Condition on a row of this name: the job runs beside others of its owner. */
  isBeside?: (job: string) => string;
  /** The state in which a job that has ended is still its workflow's. */
  heldAs?: string;
  alsoSet?: string;
  /** Changes of a reset besides, with the new generation as `reset`. */
  alsoReset?: string;
};

const GDPR = {
  table: 'gdpr_requests',
  mayStart: `j.given_up_at IS NULL AND ${HAS_TURN}`,
  heldAs: 'treated',
  alsoSet: 'updated_at = now()',
};

/** An earlier workflow may have ended while the job waited for a slot. */
const NO_STAGE = 'stage = NULL';

export const STORED_JOBS: Record<JobKind, StoredKind> = {
  import: {
    table: 'imports',
    alsoSet: NO_STAGE,
    alsoReset:
      'UPDATE import_lanes l SET generation = reset.generation FROM reset WHERE l.entity_id = $1 AND l.import_id = $2',
  },
  // A run may wait in the queue of syncs, too.
  sync: {
    table: 'sync_runs',
    owner: 'sync_id',
    isBeside: (run) => `${run}.dry_run`,
    alsoSet: `stage = '${WAITING_FOR_SLOT}'`,
  },
  export: { table: 'export_runs', owner: 'exporter_id', alsoSet: NO_STAGE },
  file: { table: 'file_jobs', alsoSet: NO_STAGE },
  send: { table: 'sends', only: 'campaign_id IS NULL' },
  campaign: { table: 'sends', only: 'campaign_id IS NOT NULL' },
  access: { ...GDPR, only: "request_type = 'access'" },
  delete: { ...GDPR, only: "request_type = 'delete'" },
};

export function isFree({ table, owner, isBeside = () => 'false' }: StoredKind, before = 'false'): string {
  if (owner === undefined) return 'true';
  return `(${isBeside('j')} OR NOT EXISTS (
    SELECT FROM ${table} o WHERE o.entity_id = j.entity_id AND o.${owner} = j.${owner} AND o.id <> j.id AND NOT ${isBeside('o')}
      AND (o.state = 'running' OR (o.state = 'accepted' AND ${before}))))`;
}

/**
 * Makes the row this workflow run's, and returns its columns; a repeat succeeds. Null: it has ended, is another's, or
 * waits for another job of its owner. `tx` holds the owner, if any.
 */
export async function claimJob<R extends object>(
  tx: Queryable,
  kind: JobKind,
  { entityId, jobId }: Pick<JobRef, 'entityId' | 'jobId'>,
  workflowRunId: string,
): Promise<R | null> {
  const stored = STORED_JOBS[kind];
  const { table, heldAs = 'running', alsoSet } = stored;
  return readRow<R>(
    await tx.query(
      `UPDATE ${table} j SET state = CASE state WHEN 'accepted' THEN 'running' ELSE state END, workflow_run_id = $3,
       started_at = coalesce(started_at, now())${alsoSet === undefined ? '' : `, ${alsoSet}`}
     WHERE entity_id = $1 AND id = $2 AND (state = 'accepted' OR (state IN ('running', '${heldAs}') AND workflow_run_id = $3))
       AND ${isFree(stored, 'o.id < j.id')}
     RETURNING *`,
      [entityId, jobId, workflowRunId],
    ),
  );
}

type Selected = {
  /** A statement up to its WHERE, in which the job's row is `j`; by default all of the row. */
  select?: string;
  states?: readonly string[];
  isShared?: boolean;
};

/** Locks the row; null when another generation has taken over, or it has ended. */
export async function lockJob<R extends object>(
  tx: Tx,
  kind: JobKind,
  { entityId, jobId, generation }: JobKey,
  { select, states = ['running'], isShared = false }: Selected = {},
): Promise<R | null> {
  return readRow<R>(
    await tx.query(
      `${select ?? `SELECT j.* FROM ${STORED_JOBS[kind].table} j`}
     WHERE j.entity_id = $1 AND j.id = $2 AND j.generation = $3 AND j.state = ANY ($4)
     FOR ${isShared ? 'SHARE' : 'NO KEY UPDATE'} OF j`,
      [entityId, jobId, generation, states],
    ),
  );
}

export async function isJobCurrent(
  db: Queryable,
  kind: JobKind,
  { entityId, jobId, generation }: JobKey,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM ${STORED_JOBS[kind].table} WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`,
    [entityId, jobId, generation],
  );
  return rowCount === 1;
}

/** Changes a running job; `set` has values from $4 on. Throws `JobGone` if it has ended or changed generation. */
export async function updateJob(
  db: Queryable,
  kind: JobKind,
  { entityId, jobId, generation }: JobKey,
  set: string,
  values: unknown[],
): Promise<void> {
  const { rowCount } = await db.query(
    `UPDATE ${STORED_JOBS[kind].table} SET ${set} WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`,
    [entityId, jobId, generation, ...values],
  );
  if (rowCount !== 1) throw new JobGone();
}

export type StagedKind = Extract<JobKind, 'import' | 'sync' | 'export' | 'file'>;

/** Sets what a running job is at; null: at its work. Does nothing if it has ended or changed generation. */
export async function updateJobStage(
  db: Queryable,
  kind: StagedKind,
  { entityId, jobId, generation }: JobKey,
  stage: string | null,
): Promise<void> {
  await db.query(
    `UPDATE ${STORED_JOBS[kind].table} SET stage = $4
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' AND stage IS DISTINCT FROM $4`,
    [entityId, jobId, generation, stage],
  );
}

/** Locks a job to cancel. Null for an unknown one, false for one that has ended. */
export async function lockJobToCancel<R extends { state: string }>(
  tx: Queryable,
  kind: JobKind,
  entityId: number,
  identifier: string,
): Promise<R | false | null> {
  const { table, only = 'true' } = STORED_JOBS[kind];
  const found = readRow<R>(
    await tx.query(`SELECT * FROM ${table} WHERE entity_id = $1 AND identifier = $2 AND ${only} FOR NO KEY UPDATE`, [
      entityId,
      identifier,
    ]),
  );
  if (!found) return null;
  return found.state === 'accepted' || found.state === 'running' ? found : false;
}

/** Returns the job's key if it has not ended. A job without a claim counts as running from then on. */
export async function beginJob(
  db: Queryable,
  kind: JobKind,
  entityId: number,
  identifier: string,
): Promise<JobKey | null> {
  const { table, only = 'true' } = STORED_JOBS[kind];
  return readRow<JobKey>(
    await db.query(
      `UPDATE ${table} SET state = 'running', started_at = coalesce(started_at, now())
     WHERE entity_id = $1 AND identifier = $2 AND state IN ('accepted', 'running') AND ${only}
     RETURNING entity_id, id AS job_id, generation`,
      [entityId, identifier],
    ),
  );
}

/** Ends a job that `tx` holds; `also` sets more, with values from $4 on. */
export async function endJob(
  tx: Queryable,
  kind: JobKind,
  { entityId, id }: { entityId: number; id: number },
  state: JobEnd['state'],
  also = '',
  values: unknown[] = [],
): Promise<void> {
  await tx.query(
    `UPDATE ${STORED_JOBS[kind].table} SET state = $3, ended_at = now()${also === '' ? '' : `, ${also}`} WHERE entity_id = $1 AND id = $2`,
    [entityId, id, state, ...values],
  );
}

export type JobEnd = {
  state: 'finished' | 'failed' | 'canceled';
  failure: { status: string; message: string } | null;
  alert: string | null;
};

export async function updateRunTrouble(
  tx: Queryable,
  kind: 'sync' | 'export',
  { entityId, id }: { entityId: number; id: number },
  { tries, failingSince, waitsUntil }: NextTry,
  fault: string,
): Promise<void> {
  await tx.query(
    `UPDATE ${STORED_JOBS[kind].table} SET tries = $3, failing_since = $4, fault = $5, waits_until = $6 WHERE entity_id = $1 AND id = $2`,
    [entityId, id, tries, failingSince, fault, waitsUntil],
  );
}

export const NO_TROUBLE = 'tries = 0, failing_since = NULL, fault = NULL, waits_until = NULL';

export async function findNextJob(
  db: Queryable,
  kind: 'sync' | 'export',
  entityId: number,
  ownerId: number,
): Promise<JobRef | null> {
  const stored = STORED_JOBS[kind];
  const { isBeside = () => 'false' } = stored;
  const { rows } = await db.query<{ id: number; identifier: string }>(
    `SELECT id, identifier FROM ${stored.table} j
     WHERE entity_id = $1 AND ${stored.owner} = $2 AND state = 'accepted' AND NOT ${isBeside('j')} AND ${isFree(stored)}
     ORDER BY id LIMIT 1`,
    [entityId, ownerId],
  );
  return rows[0] ? { entityId, jobId: rows[0].id, identifier: rows[0].identifier } : null;
}

export async function listJobIdentifiers(
  db: Queryable,
  kind: JobKind,
  entityId: number,
  ids: number[],
): Promise<Map<number, string>> {
  const { rows } = await db.query<{ id: number; identifier: string }>(
    `SELECT id, identifier FROM ${STORED_JOBS[kind].table} WHERE entity_id = $1 AND id = ANY ($2)`,
    [entityId, ids],
  );
  return new Map(rows.map(({ id, identifier }) => [id, identifier]));
}
