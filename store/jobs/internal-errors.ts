/**
 * Internal errors that last: of a step until it succeeds, of requests and given up jobs for a week, of a given up
 * privacy request until staff start it again.
 */
import type { InternalErrorKind } from '../../domain/jobs/attention.ts';
import type { JobKind } from '../../domain/jobs/job.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** A failed step: `job` is empty if the flow is no job, `entityId` null if there is none. */
export type FailedStep = Row<'internal_errors', 'entityId' | 'job' | 'step', { kind: InternalErrorKind }>;

/** An error as superadmins get it by mail: nothing of a person. */
export type MailedError = Row<
  'internal_errors',
  'id' | 'job' | 'since' | 'step' | 'times',
  { kind: InternalErrorKind }
>;

export type LastingError = Row<'internal_errors', 'id' | 'since' | 'step'>;

/**
 * Records an error under its id in the log; `since` stays the first one's. `isGivenUp`: Millrace does not try the step
 * again by itself. Does nothing for an entity that is gone.
 */
export async function upsertInternalError(
  db: Queryable,
  { entityId, kind, job, step }: FailedStep,
  id: string,
  isGivenUp = false,
): Promise<void> {
  await db.query(
    `INSERT INTO internal_errors (entity_id, kind, job, step, id, given_up)
     SELECT $1::integer, $2, $3, $4, $5, $6 WHERE $1::integer IS NULL OR EXISTS (SELECT FROM entities WHERE id = $1)
     ON CONFLICT (entity_id, kind, job, step) DO UPDATE SET id = excluded.id, last_at = now(),
       times = internal_errors.times + 1, given_up = excluded.given_up`,
    [entityId, kind, job, step, id, isGivenUp],
  );
}

/** Deletes the error of a step that has succeeded since; one that was given up stays: its repeat has nothing to do. */
export async function deleteInternalError(db: Queryable, { entityId, kind, job, step }: FailedStep): Promise<void> {
  await db.query(
    `DELETE FROM internal_errors
     WHERE entity_id IS NOT DISTINCT FROM $1 AND kind = $2 AND job = $3 AND step = $4 AND NOT given_up`,
    [entityId, kind, job, step],
  );
}

export async function deleteInternalErrorsOfJob(
  db: Queryable,
  entityId: number,
  kind: JobKind,
  job: string,
): Promise<void> {
  await db.query('DELETE FROM internal_errors WHERE entity_id = $1 AND kind = $2 AND job = $3', [entityId, kind, job]);
}

export async function listFailedSteps(db: Queryable): Promise<FailedStep[]> {
  return readRows(
    await db.query("SELECT entity_id, kind, job, step FROM internal_errors WHERE kind <> 'request' LIMIT 10000"),
  );
}

export async function listInternalErrors(
  db: Queryable,
  kind: JobKind,
  entityId: number,
  jobs: readonly string[],
): Promise<Map<string, LastingError>> {
  if (jobs.length === 0) return new Map();
  const rows = readRows<LastingError & { job: string }>(
    await db.query(
      `SELECT DISTINCT ON (job) job, id, since, step FROM internal_errors WHERE entity_id = $1 AND kind = $2 AND job = ANY ($3)
     ORDER BY job, since`,
      [entityId, kind, jobs],
    ),
  );
  return new Map(rows.map(({ job, ...error }) => [job, error]));
}

/** Deletes errors and attempts that nothing has repeated or settled for a week; none that waits for staff. */
export async function deleteOldInternalErrors(db: Queryable): Promise<void> {
  await db.query(
    `DELETE FROM internal_errors e WHERE last_at < now() - interval '7 days' AND NOT (given_up AND EXISTS (
       SELECT FROM gdpr_requests r
       WHERE r.entity_id = e.entity_id AND r.identifier = e.job AND r.given_up_at IS NOT NULL))`,
  );
  await db.query(`DELETE FROM step_attempts WHERE begun_at < now() - interval '7 days'`);
}

const NOTICE = 'internal_errors';

/** Lists the errors to mail about, and takes the turn to do so: at most once an hour, across all processes. */
export async function takeNewInternalErrors(db: Queryable): Promise<MailedError[]> {
  const { rowCount } = await db.query(
    `INSERT INTO operator_notices AS n (name, sent_at) SELECT $1, now() WHERE EXISTS (SELECT FROM internal_errors)
     ON CONFLICT (name) DO UPDATE SET sent_at = now()
       WHERE n.sent_at < now() - interval '1 hour' AND EXISTS (SELECT FROM internal_errors WHERE last_at > n.sent_at)`,
    [NOTICE],
  );
  return rowCount === 1 ? listNewInternalErrors(db) : [];
}

const MAX_MAILED = 20;

async function listNewInternalErrors(db: Queryable): Promise<MailedError[]> {
  return readRows(
    await db.query(
      `SELECT kind, job, step, id, since, times FROM internal_errors WHERE last_at > now() - interval '2 hours'
     ORDER BY last_at DESC LIMIT ${MAX_MAILED}`,
    ),
  );
}
