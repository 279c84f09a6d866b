// The runs of exporters.
import { exportFolder, windowName } from '../../domain/exports/export-window.ts';
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { claimJob } from '../jobs/jobs.ts';
import { IS_WAITING, runsOf } from '../jobs/runs.ts';
import type { DataExporter } from './data-exporter-record.ts';
import { findExporterById, lockExporter, lockExporterById } from './data-exporters.ts';
import { type ExportRun, type ExportRunColumns, type NewExportRun, toExportRun } from './export-run-record.ts';

/** Those that go on where the last good run ended, and move that on. */
const FOLLOWS_CURSOR = `cause IN ('schedule', 'request')`;

export const exportRuns = runsOf<ExportRun, object, DataExporter>({
  kind: 'export',
  owners: { lock: lockExporter, findById: findExporterById, lockById: lockExporterById },
  ownerOf: ({ exporterId }) => exporterId,
  toRun: toExportRun,
  canceled: { set: 'ended_at = now()' },
  hasNotBegun: 'started_at IS NULL',
});
export const {
  find: findExportRun,
  findById: findExportRunById,
  list: listExportRuns,
  lock: lockExportRun,
  lockOwner: lockExporterOf,
  lockWithOwner: lockExportRunAndExporter,
  cancel: cancelExportRun,
  cancelOf: cancelExportRunsOf,
} = exportRuns;

/** Null: the exporter has a run for that scheduled time already. */
export function insertExportRun(
  tx: Queryable,
  entityId: number,
  { window, days, ...run }: NewExportRun,
): Promise<ExportRun | null> {
  return exportRuns.insert(tx, entityId, {
    ...run,
    windowStart: window.start,
    windowEnd: window.end,
    days: daysName(days),
  });
}

function daysName(days: NewExportRun['days']): string | null {
  return days ? `${days.from}_${days.to}` : null;
}

/** Among so many of the last runs is whichever has not begun, or could cover a time that is due. */
const LAST_RUNS = 50;

export type DueTime = { scheduledFor: Date; windowEnd: Date };

/**
 * Counts a scheduled time as covered: it is already; or by a run that exports, or has exported, all until the end of
 * its window; or by a scheduled one that has not begun, whose window is then longer. False where there is none.
 */
export async function coverExportTime(
  tx: Queryable,
  entityId: number,
  exporterId: number,
  { scheduledFor, windowEnd }: DueTime,
): Promise<boolean> {
  const isCounted = 'coalesce(scheduled_for = $3, false) OR $3 = ANY (covers)';
  const waits = `cause = 'schedule' AND state = 'accepted' AND started_at IS NULL`;
  // One scan back along export_runs_of_exporter.
  const { rowCount } = await tx.query(
    `UPDATE export_runs SET covers = CASE WHEN ${isCounted} THEN covers ELSE covers || $3::timestamptz END,
       window_end = CASE WHEN ${waits} THEN greatest(window_end, $4) ELSE window_end END
     WHERE entity_id = $1 AND id = (
       SELECT id FROM (SELECT * FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 ORDER BY id DESC LIMIT ${LAST_RUNS}) last_runs
       WHERE ${isCounted}
         OR (${FOLLOWS_CURSOR} AND state IN ('accepted', 'running', 'finished') AND (window_end >= $4 OR (${waits})))
       ORDER BY (${isCounted}) DESC, id LIMIT 1)`,
    [entityId, exporterId, scheduledFor, windowEnd],
  );
  return rowCount === 1;
}

/** The identifier of a run that was asked for and has not begun; null if there is none. */
export function findWaitingExportRun(db: Queryable, entityId: number, exporterId: number): Promise<string | null> {
  return exportRuns.findIdentifier(db, entityId, exporterId, IS_WAITING);
}

/** The identifier of a rerun of a run, or of a backfill of these days, begun or not; null if there is none. */
export function findExportRunOfWindow(
  db: Queryable,
  entityId: number,
  exporterId: number,
  { rerunOf, days }: Pick<NewExportRun, 'rerunOf' | 'days'>,
): Promise<string | null> {
  const isOfWindow = `state IN ('accepted', 'running') AND (rerun_of = $3 OR days = $4)`;
  return exportRuns.findIdentifier(db, entityId, exporterId, isOfWindow, [rerunOf ?? null, daysName(days)]);
}

/**
 * As `claimJob`; the first claim takes down what is exported, and where the window begins. `tx` holds the exporter.
 */
export async function claimExportRun(
  tx: Tx,
  exporter: DataExporter,
  id: number,
  workflowRunId: string,
): Promise<ExportRun | null> {
  const { entityId } = exporter;
  const found = await claimJob<ExportRunColumns>(tx, 'export', { entityId, jobId: id }, workflowRunId);
  if (!found) return null;
  const start = found.windowStart ?? exporter.exportedUntil ?? exporter.exportsSince;
  return readRow(
    await tx.query(
      `UPDATE export_runs SET window_start = coalesce(window_start, $3, '-infinity'), definition = coalesce(definition, $4),
       is_covered = ${FOLLOWS_CURSOR} AND window_end <= coalesce(window_start, $3, '-infinity')
     WHERE entity_id = $1 AND id = $2 RETURNING *`,
      [entityId, id, start instanceof Date ? start : null, JSON.stringify(definitionOf(exporter, found, start))],
    ),
    toExportRun,
  );
}

function definitionOf(exporter: DataExporter, columns: ExportRunColumns, start: Date | number | null) {
  const {
    name,
    type,
    bucketName,
    subfolder,
    region,
    endpoint,
    accountId,
    roleName,
    appIds,
    sorIds,
    exportedData,
    format,
    includeHeaders,
    encryptionType,
    partBytes,
  } = exporter;
  const { window, days } = toExportRun({ ...columns, windowStart: start });
  return {
    name,
    type,
    bucketName,
    subfolder,
    region,
    endpoint,
    accountId,
    roleName,
    appIds,
    sorIds,
    exportedData,
    format,
    includeHeaders,
    encryptionType,
    partBytes,
    folder: exportFolder(exporter, windowName(window, days)),
  };
}

/** The rows in all files of a run. */
export async function countExportedRows(db: Queryable, entityId: number, runId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT coalesce(sum(rows), 0)::bigint AS count FROM export_records WHERE entity_id = $1 AND run_id = $2',
    [entityId, runId],
  );
  return rows[0]!.count;
}

/** Rows of a type that came after a run had exported its window. */
export type LateRows = { runIdentifier: string; window: ExportRun['window']; dataType: string; rows: number };

/** Those of an exporter that were looked for since a moment, oldest window first. */
export async function listLateRows(
  db: Queryable,
  entityId: number,
  exporterId: number,
  since: Date,
): Promise<LateRows[]> {
  return readRows(
    await db.query(
      `SELECT r.*, c.data_type, c.late_rows FROM export_runs r JOIN export_records c ON c.entity_id = r.entity_id AND c.run_id = r.id
     WHERE r.entity_id = $1 AND r.exporter_id = $2 AND c.late_rows > 0 AND c.late_checked_at >= $3
     ORDER BY r.window_end, r.id, c.ordinal`,
      [entityId, exporterId, since],
    ),
    ({ dataType, lateRows, ...columns }: ExportRunColumns & { dataType: string; lateRows: number }) => {
      const { identifier, window } = toExportRun(columns);
      return { runIdentifier: identifier, window, dataType, rows: lateRows };
    },
  );
}
