import { exportMail, type ExportReport } from '../../domain/exports/export-mail.ts';
import type { ExportAlert } from '../../domain/exports/exporter.ts';
import type { JobClaim, JobKey, JobRef } from '../../domain/jobs/job.ts';
import { findUser } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { findWindowOpenMs } from '../../store/core/open-window.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { findExporterById } from '../../store/exports/data-exporters.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import {
  claimExportRun,
  countExportedRows,
  findExportRunById,
  listLateRows,
  lockExporterOf,
} from '../../store/exports/export-runs.ts';
import { findNextJob, listJobIdentifiers } from '../../store/jobs/jobs.ts';
import { startJob } from '../../temporal/flows.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendRunAlerts } from '../jobs/run-alerts.ts';
import { endExportRun } from './export-end.ts';
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

/**
 * Tells the addresses that the exporter names, else its maker's, and its connections of a run that needs attention,
 * side by side.
 */
export async function mailExportAlert(
  deps: Dependencies,
  { entityId, jobId }: Omit<JobKey, 'generation'>,
): Promise<RetryAfter | null> {
  const run = await findExportRunById(deps.db, entityId, jobId);
  const exporter = run && (await findExporterById(deps.db, entityId, run.exporterId));
  if (!exporter || !run.alert) return null;
  const to = exporter.notifyEmails.length > 0 ? exporter.notifyEmails : await makerOf(deps, exporter);
  const report = await reportOf(deps, exporter, { ...run, alert: run.alert });
  const { identifier: owner, notifyConnections: connections } = exporter;
  const mail = exportMail(report);
  return sendRunAlerts(deps, { kind: 'export', entityId, jobId }, { to, connections, owner, report, mail });
}

async function makerOf({ db }: Dependencies, { createdBy }: DataExporter): Promise<string[]> {
  const user = createdBy && (await findUser(db, createdBy.id));
  return user ? [user.email] : [];
}

async function reportOf(
  { db, publicUrl }: Dependencies,
  exporter: DataExporter,
  run: ExportRun & { alert: ExportAlert },
): Promise<ExportReport> {
  const { entityId, id, identifier, cause, alert, failure, days, window, startedAt, endedAt, receivedAt } = run;
  const late = alert === 'late' ? await listLateRows(db, entityId, exporter.id, startedAt ?? receivedAt) : [];
  return {
    exporterId: exporter.identifier,
    runId: identifier,
    cause,
    alert,
    failure: failure?.status ?? null,
    window: sayWindow(window),
    days,
    rows: await countExportedRows(db, entityId, id),
    isPaused: exporter.paused !== null,
    rerunOf: await identifierOf(db, run),
    late: late.map(({ runIdentifier, dataType, rows, ...of }) => ({
      runId: runIdentifier,
      window: sayWindow(of.window),
      type: dataType,
      rows,
    })),
    startedAt: (startedAt ?? receivedAt).toISOString(),
    endedAt: (endedAt ?? receivedAt).toISOString(),
    link: `${publicUrl}/api/data_exporters/${exporter.identifier}/runs/${identifier}`,
  };
}

/** Returns the identifier of the run whose window it exports again. */
async function identifierOf(db: Dependencies['db'], { entityId, rerunOf }: ExportRun): Promise<string | null> {
  return rerunOf === null ? null : ((await listJobIdentifiers(db, 'export', entityId, [rerunOf])).get(rerunOf) ?? null);
}

function sayWindow({ start, end }: ExportRun['window']): ExportReport['window'] {
  return { start: start?.toISOString() ?? null, end: end.toISOString() };
}
