import { Refusal } from '../../domain/core/refusal.ts';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { updateRunFromStart } from '../../store/syncs/sync-run-progress.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { lockRun } from '../../store/syncs/sync-runs.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import { stopIfAsked } from '../core/stop-if-asked.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { waitOrFail } from '../jobs/wait-or-fail.ts';
import type { Dependencies } from '../dependencies.ts';
import { deliverPending } from './deliver.ts';
import { endSyncRun } from './end.ts';
import { findJob, openEnds, secretsOf, type SyncEnds, type SyncJob } from './job.ts';
import { readSource } from './read.ts';
import { removeVanished } from './removal.ts';
import { lookAtSchema } from './schema.ts';
import { openScope } from './scope.ts';

/**
 * Reads and writes what is left of a run, and removes what has vanished. Null: there is nothing left to do, or the run
 * has failed; else when to try again.
 */
export function syncRecords(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  return inSlot(
    deps.takeSyncSlot,
    claim.entityId,
    async () => {
      stopIfAsked(deps);
      return syncInTurn(deps, claim);
    },
    noteWaitOf(deps, 'sync', claim),
  );
}

async function syncInTurn(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  const job = await findJob(deps, claim);
  if (!job) return null;
  let ends: SyncEnds | null = null;
  try {
    ends = await openEnds(deps, job);
    await syncWith(deps, job, ends);
    return null;
  } catch (error) {
    if (error instanceof JobGone) return moved(deps, claim);
    if (!(error instanceof Refusal)) throw error;
    return waitOrFailSync(deps, job, error, ends);
  }
}

async function syncWith(deps: Dependencies, job: SyncJob, ends: SyncEnds): Promise<void> {
  const scope = await openScope(deps, job, ends);
  try {
    if (job.run.isRead) return await removeVanished(deps, job, ends, scope);
    if (!job.run.isBegun && job.run.rootId === null) await lookAtSchema(deps, job, ends, scope);
    if (ends.destination) await deliverPending(deps, job, { ...streamOf(job), open: ends.destination, scope });
    // With the fields that were taken just now, and the cursor behind what was pending.
    const current = await findJob(deps, { ...job.key, identifier: job.run.identifier });
    if (!current) throw new JobGone();
    await readSource(deps, current, ends, scope);
    await removeVanished(deps, current, ends, scope);
  } finally {
    await scope.close();
  }
}

function streamOf({ sync: { destination } }: SyncJob): { stream: string; key: string[] } {
  return destination as Exclude<typeof destination, { sorId: number }>;
}

/** Another attempt at this step may have moved the run on: then this one goes on from there. */
async function moved(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  return (await findJob(deps, claim)) ? { againInMs: 1_000 } : null;
}

function waitOrFailSync(deps: Dependencies, { key, run: begun }: SyncJob, refusal: Refusal, ends: SyncEnds | null) {
  const isFromStart = refusal.status === 'source_changed';
  return waitOrFail(deps, key, refusal, secretsOf(ends), {
    kind: 'sync',
    lock: lockRun,
    before: (run) => (hasProgress(begun, run, isFromStart) ? { tries: 0, failingSince: null } : begun),
    alongside: async (tx, run) => {
      if (isFromStart) await updateRunFromStart(tx, run);
    },
    fail: (failure) => endSyncRun(deps, key, failure),
  });
}

/**
 * Returns whether this try has moved the run on, or the destination has answered records. A run that begins at the
 * start again has not moved on, whatever it read: otherwise a source that always breaks off, or changes, before its end
 * would be read for ever.
 */
function hasProgress(begun: SyncRun, now: SyncRun, isFromStart: boolean): boolean {
  const isFurther = !isFromStart && now.progress.position !== begun.progress.position;
  const isAnswered =
    now.answered > 0 && (now.answered !== begun.answered || now.progress.batchesTaken !== begun.progress.batchesTaken);
  return isFurther || isAnswered || now.removed > begun.removed;
}
