import type { JobKind, JobRef } from '../../domain/jobs/job.ts';
import { readRow } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** How long unvouched requests wait for others at most: each of these times at least one more of the entity begins. */
const WAITS_AT_MOST = `interval '10 minutes'`;

/**
 * A condition on an accepted request `j`. An unvouched one waits for older unvouched ones and one that runs, and for all other requests of
 * its entity. It does not wait for requests that something keeps: a fault, a hold, or that they were given up.
 */
export const HAS_TURN = `(NOT j.is_unvouched OR NOT EXISTS (
  SELECT FROM gdpr_requests o
  WHERE o.entity_id = j.entity_id AND o.id <> j.id AND o.state IN ('accepted', 'running')
    AND o.given_up_at IS NULL AND o.fault IS NULL AND o.location_faults = '{}' AND o.stage IS DISTINCT FROM 'on hold'
    AND CASE WHEN NOT o.is_unvouched THEN j.received_at > now() - ${WAITS_AT_MOST}
      WHEN o.state = 'running' THEN o.started_at > now() - ${WAITS_AT_MOST}
      ELSE o.id < j.id END))`;

/** Returns the entity's next unvouched request whose turn it is. */
export async function findNextUnvouched(db: Queryable, entityId: number): Promise<JobRef & { type: JobKind } | null> {
  // Uses the index gdpr_requests_to_work_off.
  return readRow(await db.query(
    `SELECT j.entity_id, j.id AS run_id, j.identifier, j.request_type AS type FROM gdpr_requests j
     WHERE j.entity_id = $1 AND j.state = 'accepted' AND j.is_unvouched AND j.given_up_at IS NULL AND ${HAS_TURN}
     ORDER BY j.id LIMIT 1`, [entityId]));
}
