import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { findWindowOpenMs } from '../../store/core/open-window.ts';
import { claimExportRun, findExportRunById, lockExporterOf } from '../../store/exports/export-runs.ts';
import { findNextJob } from '../../store/jobs/jobs.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { startJob } from '../../temporal/flows.ts';
import { endExportRun } from './export-end.ts';
import { mailExportAlert } from './export-mail.ts';
import { exportFiles } from './files.ts';

export type ExportDailySteps = ReturnType<typeof exportDailySteps>;

export const exportDailySteps = (deps: Dependencies) => ({
  /**
   * Makes the row this workflow run's, with its window; null when it is another's, or over, or has to wait for another
   * run of the exporter. `isCovered`: there is nothing to be written.
   */
  async claimExport(ref: JobRef, workflowRunId: string): Promise<(JobClaim & { isCovered: boolean }) | null> {
    const claimed = await write(deps.db, async (tx) => {
      const exporter = await lockExporterOf(tx, ref.entityId, ref.jobId);
      return exporter && claimExportRun(tx, exporter, ref.jobId, workflowRunId);
    });
    deps.boundary('export: claimed');
    return claimed && { ...ref, generation: claimed.generation, isCovered: claimed.isCovered };
  },

  /**
   * Null once no transaction writes into the window any more; else when to look again. A backfill takes what is there.
   */
  async windowClosed({ entityId, jobId }: JobClaim): Promise<RetryAfter | null> {
    const run = await findExportRunById(deps.db, entityId, jobId);
    if (run?.state !== 'running' || run.window.kind === 'happened') return null;
    const openMs = await findWindowOpenMs(deps.db, run.window.end);
    return openMs > 0 ? { againInMs: openMs } : null;
  },

  /** Writes what is left, and ends the run; null where nothing is left to do. */
  exportFiles: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => exportFiles(deps, claim)),

  /**
   * Ends a run that had nothing to write, and starts the one that waits for it. Tells whether anybody wants to be told.
   */
  async endExport({ entityId, jobId, generation }: JobClaim): Promise<{ mails: boolean }> {
    const run = await findExportRunById(deps.db, entityId, jobId);
    if (run?.isCovered) await endExportRun(deps, { entityId, jobId, generation }, { failure: null });
    if (run?.state === 'canceled') deps.countExportRuns('canceled');
    const next = run && (await findNextJob(deps.db, 'export', entityId, run.exporterId));
    if (next) await startJob(deps.temporal, 'export', next);
    return { mails: run?.generation === generation && run.alert !== null };
  },

  mailExportAlert: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => mailExportAlert(deps, claim)),
});
