/** Ends an export run: moves the exporter's cursor, counts failures in a row, and pauses the exporter. */
import type { ExportAlert } from '../../domain/exports/exporter.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import type { Tx } from '../../store/core/database.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { updateExportedUntil, updateFailures } from '../../store/exports/data-exporters.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { countExportedRows, exportRuns } from '../../store/exports/export-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { countFailure, endRun } from '../jobs/runs.ts';

/** Number of scheduled runs that fail in a row until the exporter is paused. */
const PAUSE_AFTER = 3;

export type ExportEnd = {
  /** Why it failed, in words for its owner; null: it has finished. */
  failure: ExportRun['failure'];
  /** Commits more with the end of a run; returns how many rows of earlier windows were late. */
  alongside?: (tx: Tx, run: ExportRun, exporter: DataExporter | null) => Promise<{ lateRows: number }>;
};

/**
 * Ends a run. The same transaction moves the cursor, counts scheduled failures in a row, pauses the exporter after too
 * many, and records the alert. Returns false if another workflow has the run, or it has ended.
 */
export async function endExportRun(
  deps: Dependencies,
  key: JobKey,
  { failure, alongside }: ExportEnd,
): Promise<boolean> {
  let rows = 0;
  const ended = await endRun(deps, exportRuns, key, failure, async (tx, run, exporter) => {
    if (!failure) rows = await countExportedRows(tx, run.entityId, run.id);
    const { lateRows } = (await alongside?.(tx, run, exporter)) ?? { lateRows: 0 };
    if (!exporter) return null;
    return failure ? settleFailure(tx, exporter, run, failure.message) : settle(tx, exporter, run, lateRows);
  });
  if (!ended) return false;
  deps.countExportRuns(failure ? 'failed' : 'finished');
  if (!failure) deps.countExportRows(rows);
  return true;
}

/** Only a run that follows the cursor, and has tried the bucket, changes the cursor and the count of failures. */
async function settle(tx: Tx, exporter: DataExporter, run: ExportRun, lateRows: number): Promise<ExportAlert | null> {
  const { entityId, id, failures } = exporter;
  const followsCursor = run.cause === 'schedule' || run.cause === 'request';
  if (followsCursor && !run.isCovered) {
    await updateExportedUntil(tx, entityId, id, { until: run.window.end, startedAt: run.startedAt! });
    if (failures > 0) await updateFailures(tx, entityId, id, 0);
    if (lateRows === 0 && failures > 0) return 'recovered';
  }
  return lateRows > 0 ? 'late' : null;
}

async function settleFailure(
  tx: Tx,
  exporter: DataExporter,
  { cause }: ExportRun,
  message: string,
): Promise<ExportAlert | null> {
  if (cause !== 'schedule') return 'failed'; // a person waits for it
  const reasonOf = (failures: number) => `${failures} scheduled runs failed in a row: ${message}`;
  return countFailure(tx, exportRuns, exporter, { pauseAfter: PAUSE_AFTER, reasonOf });
}
