import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { syncMail } from '../../domain/syncs/sync-mail.ts';
import { write } from '../../store/core/database.ts';
import { findNextJob } from '../../store/jobs/jobs.ts';
import { claimRun, findRunById, lockSyncOf } from '../../store/syncs/sync-runs.ts';
import { findSyncById } from '../../store/syncs/syncs.ts';
import { startJob } from '../../temporal/flows.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendRunAlerts } from '../jobs/run-alerts.ts';
import { settleAbandonedBatches, settleRunsOf } from './abandoned-batches.ts';
import { endSyncRun } from './end.ts';
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

/** Sends the mail and the alerts about a run to the addresses and connections that its sync names. */
async function mailAlert(deps: Dependencies, { entityId, jobId }: JobClaim): Promise<RetryAfter | null> {
  const run = await findRunById(deps.db, entityId, jobId);
  const sync = run && (await findSyncById(deps.db, entityId, run.syncId));
  if (!sync || !run.alert) return null;
  const { emails: to, connections } = sync.alerts;
  const { read, written, unchanged, ignored, failed } = run.progress;
  const report = {
    syncId: sync.identifier,
    runId: run.identifier,
    alert: run.alert,
    failure: run.failure?.status ?? null,
    counts: { read, written, unchanged, ignored, failed },
    startedAt: (run.startedAt ?? run.receivedAt).toISOString(),
    endedAt: (run.endedAt ?? run.receivedAt).toISOString(),
    link: `${deps.publicUrl}/api/syncs/${sync.identifier}/runs/${run.identifier}`,
  };
  const mail = syncMail(report);
  return sendRunAlerts(
    deps,
    { kind: 'sync', entityId, jobId },
    { to, connections, owner: sync.identifier, report, mail },
  );
}
