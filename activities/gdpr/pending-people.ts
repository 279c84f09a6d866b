import type { JobClaim } from '../../domain/jobs/job.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type GdprIdentifier, listIdentifiers } from '../../store/gdpr/identifiers.ts';
import type { GdprPerson } from '../../store/gdpr/request-record.ts';
import { listGdprPeople } from '../../store/gdpr/requests.ts';

/** Returns the people whose erasure has begun and not ended. */
export async function listPendingPeople(db: Queryable, { entityId, jobId }: JobClaim): Promise<GdprPerson[]> {
  const people = await listGdprPeople(db, entityId, jobId);
  return people.filter(({ state, round }) => state === 'pending' && round !== null);
}

/** Returns the identifiers of these people. */
export async function listPendingIdentifiers(db: Queryable, claim: JobClaim): Promise<GdprIdentifier[]> {
  const going = new Set((await listPendingPeople(db, claim)).map(({ ordinal }) => ordinal));
  return (await listIdentifiers(db, claim.entityId, claim.jobId)).filter(({ ordinal }) => going.has(ordinal));
}
