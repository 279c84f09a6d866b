import { exportFolder, windowName } from '../../domain/exports/export-window.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { claimJob, endRun, lockJob, lockJobToCancel } from '../jobs/jobs.ts';
import type { DataExporter } from './data-exporter-record.ts';
import { type ExportRun, type ExportRunColumns, type NewExportRun, toExportRun } from './export-run-record.ts';

/** Those that go on where the last good run ended, and move that on. */
const FOLLOWS_CURSOR = `cause IN ('schedule', 'request')`;

/** Null: the exporter has a run for that scheduled time already. */
export async function insertExportRun(tx: Queryable, entityId: number, run: NewExportRun): Promise<ExportRun | null> {
  const { window, days } = run;
  return readRow(
    await tx.query(
      `INSERT INTO export_runs (entity_id, identifier, exporter_id, cause, requested_by, scheduled_for, covers, rerun_of, window_start,
       window_end, days)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (entity_id, exporter_id, scheduled_for) DO NOTHING RETURNING *`,
      [
        entityId,
        newIdentifier('run'),
        run.exporterId,
        run.cause,
        run.requestedBy ?? null,
        run.scheduledFor ?? null,
        run.covers ?? [],
        run.rerunOf ?? null,
        window.start,
        window.end,
        days ? `${days.from}_${days.to}` : null,
      ],
    ),
    toExportRun,
  );
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

export async function findExportRun(db: Queryable, entityId: number, identifier: string): Promise<ExportRun | null> {
  return readRow(
    await db.query('SELECT * FROM export_runs WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]),
    toExportRun,
  );
}

export async function findExportRunById(db: Queryable, entityId: number, id: number): Promise<ExportRun | null> {
  return readRow(
    await db.query('SELECT * FROM export_runs WHERE entity_id = $1 AND id = $2', [entityId, id]),
    toExportRun,
  );
}

/** An exporter's runs, newest first. */
export async function listExportRuns(
  db: Queryable,
  entityId: number,
  exporterId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<ExportRun[]> {
  return readRows(
    await db.query(
      'SELECT * FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 ORDER BY id DESC OFFSET $3 LIMIT $4',
      [entityId, exporterId, offset, limit],
    ),
    toExportRun,
  );
}

export async function countExportRuns(db: Queryable, entityId: number, exporterId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*) FROM export_runs WHERE entity_id = $1 AND exporter_id = $2',
    [entityId, exporterId],
  );
  return rows[0]!.count;
}

/** The identifier of a run that was asked for and has not begun; null where there is none. */
export async function findWaitingExportRun(
  db: Queryable,
  entityId: number,
  exporterId: number,
): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 AND state = 'accepted' AND cause = 'request' LIMIT 1`,
    [entityId, exporterId],
  );
  return rows[0]?.identifier ?? null;
}

/** The same for a rerun of a run, begun or not; of a backfill, for any of the same days. */
export async function findExportRunOfWindow(
  db: Queryable,
  entityId: number,
  exporterId: number,
  { rerunOf, days }: Pick<NewExportRun, 'rerunOf' | 'days'>,
): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM export_runs
     WHERE entity_id = $1 AND exporter_id = $2 AND state IN ('accepted', 'running') AND (rerun_of = $3 OR days = $4) LIMIT 1`,
    [entityId, exporterId, rerunOf ?? null, days ? `${days.from}_${days.to}` : null],
  );
  return rows[0]?.identifier ?? null;
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

export async function lockExportRun(tx: Tx, key: JobKey): Promise<ExportRun | null> {
  const row = await lockJob<ExportRunColumns>(tx, 'export', key);
  return row && toExportRun(row);
}

/** Ends a run where it stands. Null for an unknown one, false for one that has ended. */
export async function cancelExportRun(
  tx: Queryable,
  entityId: number,
  identifier: string,
): Promise<ExportRun | false | null> {
  const row = await lockJobToCancel<ExportRunColumns>(tx, 'export', entityId, identifier);
  if (!row) return row;
  const run = toExportRun(row);
  await endRun(tx, 'export', run, { state: 'canceled', failure: null, alert: null });
  return run;
}

/** Those of the schedule that have not begun, or all that are under way. */
export async function cancelExportRunsOf(
  tx: Queryable,
  entityId: number,
  exporterId: number,
  which: 'scheduled' | 'all',
): Promise<void> {
  await tx.query(
    `UPDATE export_runs SET state = 'canceled', ended_at = now(), waits_until = NULL
     WHERE entity_id = $1 AND exporter_id = $2 AND CASE WHEN $3 THEN state IN ('accepted', 'running')
       ELSE state = 'accepted' AND started_at IS NULL AND cause = 'schedule' END`,
    [entityId, exporterId, which === 'all'],
  );
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
