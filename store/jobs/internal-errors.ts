import type { InternalErrorKind } from '../../domain/jobs/attention.ts';
import type { Queryable } from '../core/database.ts';

/** Internal errors that last: of a step of a job or flow until it succeeds, of requests for a week. */

/** What failed: `job` is the identifier of the job, empty where the flow is no job; `entityId` is null where there is none. */
export type FailedStep = { entityId: number | null; kind: InternalErrorKind; job: string; step: string };

/** Notes an error down under its id in the log; `since` stays that of the first one. Does nothing for an entity that is gone. */
export async function upsertInternalError(db: Queryable, { entityId, kind, job, step }: FailedStep, id: string): Promise<void> {
  await db.query(
    `INSERT INTO internal_errors (entity_id, kind, job, step, id)
     SELECT $1::integer, $2, $3, $4, $5 WHERE $1::integer IS NULL OR EXISTS (SELECT FROM entities WHERE id = $1)
     ON CONFLICT (entity_id, kind, job, step) DO UPDATE SET id = excluded.id, last_at = now(), times = internal_errors.times + 1`,
    [entityId, kind, job, step, id]);
}
