import type { ExportAlert } from '../../domain/exports/exporter.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { updateExportedUntil, updateFailures, updatePaused } from '../../store/exports/data-exporters.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { cancelExportRunsOf, countExportedRows, lockExportRunAndExporter } from '../../store/exports/export-runs.ts';
import { endRun } from '../../store/jobs/jobs.ts';
import type { Dependencies } from '../dependencies.ts';

/** After so many scheduled runs that failed in a row the exporter is paused. */
const PAUSE_AFTER = 3;

export type ExportEnd = {
  /** Why it failed, in words for its owner; null: it has finished. */
  failure: ExportRun['failure'];
  /**
   * Commits more with the end of a run that is still its workflow's; returns how many rows of earlier windows were
   * found to be late.
   */
  alongside?: (tx: Tx, run: ExportRun, exporter: DataExporter | null) => Promise<{ lateRows: number }>;
};

/**
 * Ends a run. In the same transaction the cursor moves on, failures of scheduled runs in a row are counted, the
 * exporter is paused where they are too many, and what there is to be mailed is noted down. False where the run was
 * another's, or over.
 */
export async function endExportRun(
  deps: Dependencies,
  key: JobKey,
  { failure, alongside }: ExportEnd,
): Promise<boolean> {
  const ended = await write(deps.db, async (tx) => {
    const held = await lockExportRunAndExporter(tx, key);
    if (!held) return null;
    const { run, owner: exporter } = held;
    const { lateRows } = (await alongside?.(tx, run, exporter)) ?? { lateRows: 0 };
    const settled =
      exporter && (failure ? settleFailure(tx, exporter, run, failure.message) : settle(tx, exporter, run, lateRows));
    const alert = await settled;
    await endRun(tx, 'export', run, { state: failure ? 'failed' : 'finished', failure, alert });
    return { rows: await countExportedRows(tx, run.entityId, run.id) };
  });
  if (!ended) return false;
  deps.boundary('export: after the end committed');
  deps.countExportRuns(failure ? 'failed' : 'finished');
  if (!failure) deps.countExportRows(ended.rows);
  return true;
}

/**
 * Reruns and backfills change neither the cursor nor the count of failures. One that was covered has not tried the
 * bucket.
 */
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
  if (cause !== 'schedule') return 'failed'; // somebody waits for it
  const { entityId, id, paused } = exporter;
  const failures = exporter.failures + 1;
  await updateFailures(tx, entityId, id, failures);
  if (failures >= PAUSE_AFTER && !paused) {
    await updatePaused(tx, entityId, id, `${failures} scheduled runs failed in a row: ${message}`);
    await cancelExportRunsOf(tx, entityId, id, 'scheduled');
    return 'paused';
  }
  return failures === 1 ? 'failed' : null;
}
