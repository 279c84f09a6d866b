import { exportMail, type ExportReport } from '../../domain/exports/export-mail.ts';
import type { ExportAlert } from '../../domain/exports/exporter.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { findUser } from '../../store/accounts/users.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { findExporterById } from '../../store/exports/data-exporters.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { countExportedRows, findExportRunById, listLateRows } from '../../store/exports/export-runs.ts';
import { listJobIdentifiers } from '../../store/jobs/jobs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendRunAlerts } from '../jobs/run-alerts.ts';

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
  const { subject, text, line } = exportMail(report);
  const { exporterId: identifier, alert, failure, link, endedAt } = report;
  return sendRunAlerts(
    deps,
    { kind: 'export', entityId, jobId },
    {
      to,
      subject,
      text,
      connections: exporter.notifyConnections,
      alert: { kind: 'exporter', identifier, run: run.identifier, alert, failure, text: line, link, ended_at: endedAt },
    },
  );
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

/** Of the run whose window it exports again. */
async function identifierOf(db: Dependencies['db'], { entityId, rerunOf }: ExportRun): Promise<string | null> {
  return rerunOf === null ? null : ((await listJobIdentifiers(db, 'export', entityId, [rerunOf])).get(rerunOf) ?? null);
}

function sayWindow({ start, end }: ExportRun['window']): ExportReport['window'] {
  return { start: start?.toISOString() ?? null, end: end.toISOString() };
}
