import type { InternalErrorKind } from '../../domain/jobs/attention.ts';
import type { JobKind } from '../../domain/jobs/job.ts';
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** Internal errors that last: of a step of a job or flow until it succeeds, of requests for a week. */

/** What failed: `job` is the identifier of the job, empty where the flow is no job; `entityId` is null where there is none. */
export type FailedStep = { entityId: number | null; kind: InternalErrorKind; job: string; step: string };

export type LastingError = { id: string; since: Date; step: string };

/** Notes an error down under its id in the log; `since` stays that of the first one. Does nothing for an entity that is gone. */
export async function upsertInternalError(db: Queryable, { entityId, kind, job, step }: FailedStep, id: string): Promise<void> {
  await db.query(
    `INSERT INTO internal_errors (entity_id, kind, job, step, id)
     SELECT $1::integer, $2, $3, $4, $5 WHERE $1::integer IS NULL OR EXISTS (SELECT FROM entities WHERE id = $1)
     ON CONFLICT (entity_id, kind, job, step) DO UPDATE SET id = excluded.id, last_at = now(), times = internal_errors.times + 1`,
    [entityId, kind, job, step, id]);
}

/** Forgets the errors of a step that has succeeded. */
export async function deleteInternalError(db: Queryable, { entityId, kind, job, step }: FailedStep): Promise<void> {
  await db.query(
    'DELETE FROM internal_errors WHERE entity_id IS NOT DISTINCT FROM $1 AND kind = $2 AND job = $3 AND step = $4',
    [entityId, kind, job, step]);
}

/** Steps whose errors last, in all entities: those that workers may settle. */
export async function listFailedSteps(db: Queryable): Promise<FailedStep[]> {
  return readRows(await db.query("SELECT entity_id, kind, job, step FROM internal_errors WHERE kind <> 'request' LIMIT 10000"));
}

/** The oldest lasting error of each of these jobs, by the job's identifier. */
export async function listInternalErrors(
  db: Queryable, kind: JobKind, entityId: number, jobs: readonly string[],
): Promise<Map<string, LastingError>> {
  if (jobs.length === 0) return new Map();
  const rows = readRows<LastingError & { job: string }>(await db.query(
    `SELECT DISTINCT ON (job) job, id, since, step FROM internal_errors WHERE entity_id = $1 AND kind = $2 AND job = ANY ($3)
     ORDER BY job, since`, [entityId, kind, jobs]));
  return new Map(rows.map(({ job, ...error }) => [job, error]));
}

/** Forgets errors that nothing has repeated or settled for a week: of requests, and of jobs that have ended otherwise. */
export async function deleteOldInternalErrors(db: Queryable): Promise<void> {
  await db.query(`DELETE FROM internal_errors WHERE last_at < now() - interval '7 days'`);
}
