import { Context } from '@temporalio/activity';
import type { FileFailure } from '../../domain/imports/import-file.ts';
import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { addPendingCustomers } from '../../store/attributes/customers.ts';
import { findSimilarLines } from '../../store/attributes/similar-ids.ts';
import { isQueryCanceled, read } from '../../store/core/database.ts';
import type { PinnedImport } from '../../store/imports/import-record.ts';
import { claimImport, findImport, updateImportFormat, updateSimilarIds } from '../../store/imports/imports.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { fetchFile } from './import-fetch.ts';
import { readableImport } from './import-file.ts';
import { loadLanes, type Outcome } from './import-lanes.ts';
import { mailReport } from './import-mail.ts';
import { failImport, finishImport } from './import-merge.ts';
import { pinnedHeader } from './import-rules.ts';

export type ImportAttributesSteps = ReturnType<typeof importAttributesSteps>;

export const importAttributesSteps = (deps: Dependencies) => ({
  /** Makes the row this run's; null when it is another's, or over. */
  async claimImport(ref: JobRef, workflowRunId: string): Promise<(JobClaim & { toFetch: boolean }) | null> {
    const claimed = await claimImport(deps.db, ref.entityId, ref.jobId, workflowRunId);
    deps.boundary('import: claimed');
    return claimed && { ...ref, generation: claimed.generation, toFetch: !claimed.isPinned };
  },

  /** Fetches and pins the file of an address. */
  fetchFile: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => inTurn(deps, claim, () => fetchFile(deps, claim))),

  /**
   * Merges what is left of the file, batch by batch; each lane's part commits with its counts, its errors and its
   * cursor.
   */
  loadRows: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() =>
      inTurn(deps, claim, async () => {
        try {
          for (let outcome: Outcome = 'moved'; outcome === 'moved';) {
            const job = await findClaimed(deps, claim);
            outcome = job ? await loadFromCursor(deps, job) : 'done';
          }
        } catch (error) {
          // The file of a canceled import goes while its last batches are read.
          if (await findClaimed(deps, claim)) throw error;
        }
        return null;
      }),
    ),

  /** The file is through. Tells whether anybody wants to be told. */
  async endImport(claim: JobClaim): Promise<{ mails: boolean }> {
    const job = await findClaimed(deps, claim);
    if (job) await finishImport(deps, job);
    const ended = await findImport(deps.db, claim.entityId, claim.identifier);
    const isOurs = ended?.generation === claim.generation && (ended.state === 'finished' || ended.state === 'failed');
    return { mails: isOurs && !ended.skipEmail };
  },

  mailReport: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => mailReport(deps, claim)),
});

function inTurn(
  deps: Dependencies,
  claim: JobClaim,
  step: () => Promise<RetryAfter | null>,
): Promise<RetryAfter | null> {
  return inSlot(deps.takeImportSlot, claim.entityId, step, noteWaitOf(deps, 'import', claim));
}

/** Null when another generation has taken over, or the import has ended. */
async function findClaimed(
  { db }: Dependencies,
  { entityId, identifier, generation }: JobClaim,
): Promise<PinnedImport | null> {
  const job = await findImport(db, entityId, identifier);
  return job?.state === 'running' && job.generation === generation && job.file ? { ...job, file: job.file } : null;
}

async function loadFromCursor(deps: Dependencies, pinned: PinnedImport): Promise<Outcome> {
  const fail = async (failure: FileFailure) => {
    await failImport(deps, { ...pinned, jobId: pinned.id }, failure);
    return 'done' as const;
  };
  const job = await readableImport(deps, pinned);
  if (job === 'moved') return job;
  if ('errorType' in job) return fail(job);
  const header = await pinnedHeader(deps.files, job);
  await updateImportFormat(deps.db, job, header.ok ? header.format : null);
  if (!header.ok) return fail(header);
  const outcome = await loadLanes(deps, job, header);
  if (outcome === 'done' && job.dryRun) await compareIds(deps, job);
  return outcome;
}

/** Maximum number of lines that a dry run shows as examples of similar ids. */
const MAX_EXAMPLES = 10;

/** Two minutes are enough for some million ids; for more, the dry run ends without the comparison. */
const COMPARING = `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = '120s'`;

/** Compares the ids of a dry run with each other and with those of customers. */
async function compareIds({ db }: Dependencies, job: PinnedImport): Promise<void> {
  await addPendingCustomers(db, job.entityId);
  const signal = Context.current().cancellationSignal;
  try {
    const found = await read(db, (tx) => findSimilarLines(tx, job.entityId, job.id, MAX_EXAMPLES), {
      settings: COMPARING,
      signal,
    });
    await updateSimilarIds(db, job, found);
  } catch (error) {
    if (!isQueryCanceled(error)) throw error;
    await updateSimilarIds(db, job, null);
  }
}
