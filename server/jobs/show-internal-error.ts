import type { JobKind } from '../../domain/jobs/job.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type LastingError, listInternalErrors } from '../../store/jobs/internal-errors.ts';

type JobName = { entityId: number; identifier: string };

export async function findInternalError(db: Queryable, kind: JobKind, { entityId, identifier }: JobName) {
  return showInternalError((await listInternalErrors(db, kind, entityId, [identifier])).get(identifier));
}

export async function findInternalErrors(
  db: Queryable,
  kind: JobKind,
  entityId: number,
  identifiers: readonly string[],
) {
  const errors = await listInternalErrors(db, kind, entityId, identifiers);
  return (identifier: string) => showInternalError(errors.get(identifier));
}

function showInternalError(error: LastingError | undefined) {
  return error === undefined ? null : { id: error.id, since: error.since.toISOString(), step: error.step };
}
