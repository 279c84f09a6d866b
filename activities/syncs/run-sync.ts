import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { findNextJob } from '../../store/jobs/jobs.ts';
import { claimRun, findRunById, lockSyncOf } from '../../store/syncs/sync-runs.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { startJob } from '../../temporal/flows.ts';
import { settleAbandonedBatches, settleRunsOf } from './abandoned-batches.ts';
import { endSyncRun } from './end.ts';
import { mailAlert } from './mail.ts';
import { syncRecords } from './records.ts';

export type RunSyncSteps = ReturnType<typeof runSyncSteps>;

export const runSyncSteps = (deps: Dependencies) => ({
  /**
   * Makes the row this workflow run's; null when it is another's, or over, or has to wait for another run of the sync.
   */
  async claimSyncRun(ref: JobRef, workflowRunId: string): Promise<JobClaim | null> {
    const claimed = await write(deps.db, async (tx) => {
      const sync = await lockSyncOf(tx, ref.entityId, ref.jobId);
      if (sync) await settleAbandonedBatches(tx, deps, sync);
      return sync && claimRun(tx, ref.entityId, ref.jobId, workflowRunId);
    });
    deps.boundary('sync: claimed');
    return claimed && { ...ref, generation: claimed.generation };
  },

  /** Reads and writes what is left; null where nothing is. */
  syncRecords: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => syncRecords(deps, claim)),

  /** Ends what has not failed, and starts the run that waits for it. Tells whether anybody wants to be told. */
  async endSyncRun({ entityId, jobId, generation }: JobClaim): Promise<{ mails: boolean }> {
    await endSyncRun(deps, { entityId, jobId, generation }, null);
    const ended = await findRunById(deps.db, entityId, jobId);
    if (ended?.state === 'canceled') await settleRunsOf(deps, entityId, ended.syncId);
    const next = ended && (await findNextJob(deps.db, 'sync', entityId, ended.syncId));
    if (next) await startJob(deps.temporal, 'sync', next);
    return { mails: ended?.generation === generation && ended.alert !== null };
  },

  mailSyncAlert: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => mailAlert(deps, claim)),
});
