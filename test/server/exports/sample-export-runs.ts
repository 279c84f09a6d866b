import type { Tx } from '../../../store/core/database.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import { insertExportRecords, listExportRecords } from '../../../store/exports/export-files.ts';
import { claimExportRun, exportRuns, insertExportRun } from '../../../store/exports/export-runs.ts';

export type SampleExportRuns = {
  /** Finished, with an export record. */
  endedRunId: string;
  exportId: string;
  /** Due by the schedule, not begun. */
  waitingRunId: string;
};

/** A run of each kind. */
export async function insertSampleExportRuns(tx: Tx, exporter: DataExporter): Promise<SampleExportRuns> {
  const { entityId, id: exporterId } = exporter;
  const [end, scheduledFor] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T03:00:00Z')];
  const asked = (await insertExportRun(tx, entityId, { exporterId, cause: 'request', window: { start: null, end } }))!;
  const ended = (await claimExportRun(tx, entityId, asked.id, 'workflow'))!;
  await insertExportRecords(tx, entityId, ended.id, ['logs']);
  const [record] = await listExportRecords(tx, entityId, [ended.id]);
  await exportRuns.end(tx, ended, { state: 'finished', failure: null, alert: null });
  const waiting = (await insertExportRun(tx, entityId, {
    exporterId,
    cause: 'schedule',
    scheduledFor,
    window: { start: null, end },
  }))!;
  return { endedRunId: ended.identifier, exportId: record!.identifier, waitingRunId: waiting.identifier };
}
