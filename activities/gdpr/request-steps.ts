/** Steps that access and deletion requests share. */
import { DAY_MS } from '../../domain/time/durations.ts';
import { FileStoreAway, internalErrorOf, OutsideError } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';
import { type JobClaim, JobGone, type JobRef, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { deleteNotedFiles, noteFileDeletions } from '../../store/core/file-deletions.ts';
import { archivePrefix } from '../../store/gdpr/archives.ts';
import { findNextUnvouched } from '../../store/gdpr/device-requests.ts';
import {
  collectIdentifiers,
  type GdprIdentifier,
  listIdentifiers,
  updateSubjects,
} from '../../store/gdpr/identifiers.ts';
import * as progress from '../../store/gdpr/progress.ts';
import type { GdprPerson } from '../../store/gdpr/request-record.ts';
import { findGdprRequestById, listGdprPeople } from '../../store/gdpr/requests.ts';
import { startJob } from '../../temporal/flows.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';

/** `isTreated`: the request has ended, and is kept for its week. */
export type ClaimedRequest = JobClaim & { isTreated: boolean };

/** Claims the request for a workflow run. Null: another run has it, it has ended, or it must wait for its turn. */
export async function claimRequest(
  { db, boundary }: Pick<Dependencies, 'db' | 'boundary'>,
  ref: JobRef,
  workflowRunId: string,
): Promise<ClaimedRequest | null> {
  const claimed = await progress.claimRequest(db, ref, workflowRunId);
  boundary('gdpr: claimed');
  return claimed && { ...ref, generation: claimed.generation, isTreated: claimed.state === 'treated' };
}

/** Starts the entity's next unvouched request, now that one of its requests has ended. Else the sweep does. */
export async function startNextUnvouched(
  { db, temporal, log }: Pick<Dependencies, 'db' | 'temporal' | 'log'>,
  { entityId }: Pick<JobRef, 'entityId'>,
): Promise<void> {
  const next = await findNextUnvouched(db, entityId);
  if (!next) return;
  await startJob(temporal, next.type, next).catch((error: unknown) => {
    log.warn(
      { entityId, gdprRequestId: next.jobId, ...internalErrorOf(error) },
      'the next request from a device is left to the sweep',
    );
  });
}

/** How long a workflow sleeps at most: the time may change meanwhile. */
const LOOK_EVERY_MS = DAY_MS;

/** Deletes an expired request, then its archives. Returns when to try again; null if that is never. */
export async function discardRequest(
  { db, files, boundary }: Pick<Dependencies, 'db' | 'files' | 'boundary'>,
  { entityId, jobId }: Pick<JobRef, 'entityId' | 'jobId'>,
): Promise<RetryAfter | null> {
  const request = await findGdprRequestById(db, entityId, jobId);
  if (!request?.expiresAt) return null;
  const leftMs = request.expiresAt.getTime() - Date.now();
  if (leftMs > 0) return { againInMs: Math.min(leftMs + 1_000, LOOK_EVERY_MS) };
  const prefix = archivePrefix(request);
  const keys = await Array.fromAsync(files.list(prefix), ({ key }) => key);
  await write(db, async (tx) => {
    await progress.deleteGdprRequest(tx, entityId, request.id);
    await noteFileDeletions(tx, entityId, keys);
  });
  await deleteNotedFiles({ db, files, boundary }, entityId, prefix);
  return null;
}

/** Runs work on a request in a slot. The request's stage says that it waits, then what it does. Throws `JobGone`. */
export function inGdprSlot<T>(
  { db, takeGdprSlot }: Pick<Dependencies, 'db' | 'takeGdprSlot'>,
  claim: JobClaim,
  stage: string,
  work: () => Promise<T>,
): Promise<T> {
  return inSlot(takeGdprSlot, claim.entityId, work, (isWaiting) =>
    progress.updateStage(db, claim, isWaiting ? WAITING_FOR_SLOT : stage),
  );
}

/** Stores what failed, without values, and throws a passing error, which Temporal retries: a refusal ends the flow. */
export async function recordError(
  { db }: Pick<Dependencies, 'db'>,
  claim: JobClaim,
  what: string,
  error: unknown,
  record = progress.updateGdprError,
): Promise<never> {
  if (error instanceof JobGone || error instanceof TooManyWait) throw error;
  const { errorClass, code } = internalErrorOf(error);
  const cause =
    error instanceof Refusal
      ? String(error.status)
      : error instanceof FileStoreAway
        ? error.message
        : (code ?? errorClass);
  await record(db, claim, `${what} (${cause}); it is tried again`);
  throw error instanceof Refusal ? new OutsideError(cause) : error;
}

/** Lists the people whose erasure has begun and not ended, and their ids. */
export async function listPending(
  db: Queryable,
  { entityId, jobId }: JobClaim,
): Promise<{ people: GdprPerson[]; identifiers: GdprIdentifier[] }> {
  const all = await listGdprPeople(db, entityId, jobId);
  const people = all.filter(({ state, round }) => state === 'pending' && round !== null);
  const pending = new Set(people.map(({ ordinal }) => ordinal));
  const identifiers = await listIdentifiers(db, entityId, jobId);
  return { people, identifiers: identifiers.filter(({ ordinal }) => pending.has(ordinal)) };
}

/** Stores the ids that lead to the people, and returns how many are new. A hold keeps no person from their own data. */
export async function collectIdentifiersToShow(
  { db, secrets, boundary }: Dependencies,
  claim: JobClaim,
): Promise<{ added: number }> {
  const { entityId, jobId } = claim;
  await progress.updateStage(db, claim, 'collecting ids');
  await updateSubjects(db, secrets, entityId, jobId);
  const found = await collectIdentifiers(db, entityId, jobId);
  boundary('gdpr: collected');
  return found;
}
