import { FileStoreAway, internalErrorOf, OutsideError } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { updateGdprError } from '../../store/gdpr/progress.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Says in the status what keeps a step, without a value, and throws, so that it is tried again; a refusal would end the
 * flow, so it is thrown as what may pass. `what` ends in what could not be done; `record` stores it.
 */
export async function recordError(
  { db }: Pick<Dependencies, 'db'>,
  claim: JobClaim,
  what: string,
  error: unknown,
  record = updateGdprError,
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
