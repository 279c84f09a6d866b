import { exportFolder, windowName } from '../../domain/exports/export-window.ts';
import type { ExportAlert, ExportRunState } from '../../domain/exports/exporter.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { RunKey } from '../syncs/sync-runs.ts';
import type { DataExporter } from './data-exporter-record.ts';
import { type ExportRun, type ExportRunRow, type NewExportRun, toExportRun } from './export-run-record.ts';

/** Those that go on where the last good run ended, and move that on. */
const FOLLOWS_CURSOR = `cause IN ('schedule', 'request')`;

/** Null: the exporter has a run for that scheduled time already. */
export async function insertExportRun(tx: Queryable, entityId: number, run: NewExportRun): Promise<ExportRun | null> {
  const { window, days } = run;
  const { rows } = await tx.query<ExportRunRow>(
    `INSERT INTO export_runs (entity_id, identifier, exporter_id, cause, requested_by, scheduled_for, covers, rerun_of, window_start,
       window_end, days)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (entity_id, exporter_id, scheduled_for) DO NOTHING RETURNING *`,
    [entityId, newIdentifier('run'), run.exporterId, run.cause, run.requestedBy ?? null, run.scheduledFor ?? null, run.covers ?? [],
      run.rerunOf ?? null, window.start, window.end, days ? `${days.from}_${days.to}` : null]);
  return rows[0] ? toExportRun(rows[0]) : null;
}

/** Among so many of the last runs is whichever has not begun, or could cover a time that is due. */
const LAST_RUNS = 50;

export type DueTime = { scheduledFor: Date; windowEnd: Date };

/**
 * Counts a scheduled time as covered: it is already; or by a run that exports, or has exported, all until the end of its
 * window; or by a scheduled one that has not begun, whose window is then longer. False where there is none.
 */
export async function coverExportTime(
  tx: Queryable, entityId: number, exporterId: number, { scheduledFor, windowEnd }: DueTime,
): Promise<boolean> {
  const isCounted = 'coalesce(scheduled_for = $3, false) OR $3 = ANY (covers)';
  const waits = `cause = 'schedule' AND state = 'accepted' AND started_at IS NULL`;
  // One walk back along export_runs_of_exporter.
  const { rowCount } = await tx.query(
    `UPDATE export_runs SET covers = CASE WHEN ${isCounted} THEN covers ELSE covers || $3::timestamptz END,
       window_end = CASE WHEN ${waits} THEN greatest(window_end, $4) ELSE window_end END
     WHERE entity_id = $1 AND id = (
       SELECT id FROM (SELECT * FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 ORDER BY id DESC LIMIT ${LAST_RUNS}) last_runs
       WHERE ${isCounted}
         OR (${FOLLOWS_CURSOR} AND state IN ('accepted', 'running', 'finished') AND (window_end >= $4 OR (${waits})))
       ORDER BY (${isCounted}) DESC, id LIMIT 1)`, [entityId, exporterId, scheduledFor, windowEnd]);
  return rowCount === 1;
}

export async function findExportRun(db: Queryable, entityId: number, identifier: string): Promise<ExportRun | null> {
  const { rows } = await db.query<ExportRunRow>(
    'SELECT * FROM export_runs WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]);
  return rows[0] ? toExportRun(rows[0]) : null;
}

export async function findExportRunById(db: Queryable, entityId: number, id: number): Promise<ExportRun | null> {
  const { rows } = await db.query<ExportRunRow>('SELECT * FROM export_runs WHERE entity_id = $1 AND id = $2', [entityId, id]);
  return rows[0] ? toExportRun(rows[0]) : null;
}

/** An exporter's runs, newest first. */
export async function listExportRuns(
  db: Queryable, entityId: number, exporterId: number, { offset, limit }: { offset: number; limit: number },
): Promise<ExportRun[]> {
  const { rows } = await db.query<ExportRunRow>(
    'SELECT * FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 ORDER BY id DESC OFFSET $3 LIMIT $4',
    [entityId, exporterId, offset, limit]);
  return rows.map(toExportRun);
}

export async function countExportRuns(db: Queryable, entityId: number, exporterId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*) FROM export_runs WHERE entity_id = $1 AND exporter_id = $2', [entityId, exporterId]);
  return rows[0]!.count;
}

/** The oldest run of an exporter that waits to be started, where none is running. */
export async function findNextExportRun(db: Queryable, entityId: number, exporterId: number): Promise<JobRef | null> {
  const { rows } = await db.query<{ id: number; identifier: string }>(
    `SELECT id, identifier FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 AND state = 'accepted'
       AND NOT EXISTS (SELECT FROM export_runs o WHERE o.entity_id = $1 AND o.exporter_id = $2 AND o.state = 'running')
     ORDER BY id LIMIT 1`, [entityId, exporterId]);
  return rows[0] ? { entityId, runId: rows[0].id, identifier: rows[0].identifier } : null;
}

/** The identifier of a run that was asked for and has not begun; null where there is none. */
export async function findWaitingExportRun(db: Queryable, entityId: number, exporterId: number): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 AND state = 'accepted' AND cause = 'request' LIMIT 1`,
    [entityId, exporterId]);
  return rows[0]?.identifier ?? null;
}

/** The same for a rerun of a run, begun or not; of a backfill, for any of the same days. */
export async function findExportRunOfWindow(
  db: Queryable, entityId: number, exporterId: number, { rerunOf, days }: Pick<NewExportRun, 'rerunOf' | 'days'>,
): Promise<string | null> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM export_runs
     WHERE entity_id = $1 AND exporter_id = $2 AND state IN ('accepted', 'running') AND (rerun_of = $3 OR days = $4) LIMIT 1`,
    [entityId, exporterId, rerunOf ?? null, days ? `${days.from}_${days.to}` : null]);
  return rows[0]?.identifier ?? null;
}

/**
 * Makes the row this workflow run's; a repeat by the same run succeeds. Null when it is another's, has ended, or another run of
 * the exporter is under way, or was there before. The first claim takes down what is exported, and where the window begins. `tx`
 * holds the exporter.
 */
export async function claimExportRun(tx: Tx, exporter: DataExporter, id: number, workflowRunId: string): Promise<ExportRun | null> {
  const { rows: [found] } = await tx.query<ExportRunRow>(
    `SELECT * FROM export_runs r WHERE entity_id = $1 AND id = $2 AND (state = 'accepted' OR (state = 'running' AND run_id = $3))
       AND NOT EXISTS (SELECT FROM export_runs o WHERE o.entity_id = $1 AND o.exporter_id = r.exporter_id AND o.id <> $2
         AND (o.state = 'running' OR (o.state = 'accepted' AND o.id < $2)))
     FOR NO KEY UPDATE OF r`, [exporter.entityId, id, workflowRunId]);
  if (!found) return null;
  const start = found.window_start ?? exporter.exportedUntil ?? exporter.exportsSince;
  const { rows } = await tx.query<ExportRunRow>(
    `UPDATE export_runs SET state = 'running', run_id = $3, started_at = coalesce(started_at, now()),
       window_start = coalesce(window_start, $4, '-infinity'), definition = coalesce(definition, $5),
       is_covered = ${FOLLOWS_CURSOR} AND window_end <= coalesce(window_start, $4, '-infinity')
     WHERE entity_id = $1 AND id = $2 RETURNING *`,
    [exporter.entityId, id, workflowRunId, start instanceof Date ? start : null, JSON.stringify(definitionOf(exporter, found, start))]);
  return toExportRun(rows[0]!);
}

function definitionOf(exporter: DataExporter, row: ExportRunRow, start: Date | number | null) {
  const {
    name, type, bucketName, subfolder, region, endpoint, accountId, roleName, appIds, sorIds, exportedData, format, includeHeaders,
    encryptionType, partBytes,
  } = exporter;
  const { window, days } = toExportRun({ ...row, window_start: start });
  return {
    name, type, bucketName, subfolder, region, endpoint, accountId, roleName, appIds, sorIds, exportedData, format, includeHeaders,
    encryptionType, partBytes, folder: exportFolder(exporter, windowName(window, days)),
  };
}

/** Holds the row until the transaction ends. Null when another generation has taken over, or it has ended. */
export async function lockExportRun(tx: Tx, { entityId, runId, generation }: RunKey): Promise<ExportRun | null> {
  const { rows } = await tx.query<ExportRunRow>(
    `SELECT * FROM export_runs WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' FOR NO KEY UPDATE`,
    [entityId, runId, generation]);
  return rows[0] ? toExportRun(rows[0]) : null;
}

export type ExportRunEnd = { state: ExportRunState; failure: ExportRun['failure']; alert: ExportAlert | null };

/** Ends a locked run. */
export async function updateExportRunEnded(
  tx: Queryable, { entityId, id }: ExportRun, { state, failure, alert }: ExportRunEnd,
): Promise<void> {
  await tx.query(
    `UPDATE export_runs SET state = $3, ended_at = now(), failure_status = $4, failure = $5, alert = $6, waits_until = NULL
     WHERE entity_id = $1 AND id = $2`, [entityId, id, state, failure?.status ?? null, failure?.message ?? null, alert]);
}

/** Ends a run where it stands. Null for an unknown one, false for one that has ended. */
export async function cancelExportRun(tx: Queryable, entityId: number, identifier: string): Promise<ExportRun | false | null> {
  const { rows } = await tx.query<ExportRunRow>(
    'SELECT * FROM export_runs WHERE entity_id = $1 AND identifier = $2 FOR NO KEY UPDATE', [entityId, identifier]);
  if (!rows[0]) return null;
  const run = toExportRun(rows[0]);
  if (run.endedAt) return false;
  await updateExportRunEnded(tx, run, { state: 'canceled', failure: null, alert: null });
  return run;
}

/** Those of the schedule that have not begun, or all that are under way. */
export async function cancelExportRunsOf(tx: Queryable, entityId: number, exporterId: number, which: 'scheduled' | 'all'): Promise<void> {
  await tx.query(
    `UPDATE export_runs SET state = 'canceled', ended_at = now(), waits_until = NULL
     WHERE entity_id = $1 AND exporter_id = $2 AND CASE WHEN $3 THEN state IN ('accepted', 'running')
       ELSE state = 'accepted' AND started_at IS NULL AND cause = 'schedule' END`,
    [entityId, exporterId, which === 'all']);
}

/** Identifiers of some runs by their ids. */
export async function listExportRunIdentifiers(db: Queryable, entityId: number, ids: number[]): Promise<Map<number, string>> {
  const { rows } = await db.query<{ id: number; identifier: string }>(
    'SELECT id, identifier FROM export_runs WHERE entity_id = $1 AND id = ANY ($2)', [entityId, ids]);
  return new Map(rows.map(({ id, identifier }) => [id, identifier]));
}

/** The rows in all files of a run. */
export async function countExportedRows(db: Queryable, entityId: number, runId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT coalesce(sum(rows), 0)::bigint AS count FROM export_records WHERE entity_id = $1 AND run_id = $2', [entityId, runId]);
  return rows[0]!.count;
}

/** Rows of a type that came after a run had exported its window. */
export type LateRows = { runIdentifier: string; window: ExportRun['window']; dataType: string; rows: number };

/** Those of an exporter that were looked for since a moment, oldest window first. */
export async function listLateRows(db: Queryable, entityId: number, exporterId: number, since: Date): Promise<LateRows[]> {
  const { rows } = await db.query<ExportRunRow & { data_type: string; late_rows: number }>(
    `SELECT r.*, c.data_type, c.late_rows FROM export_runs r JOIN export_records c ON c.entity_id = r.entity_id AND c.run_id = r.id
     WHERE r.entity_id = $1 AND r.exporter_id = $2 AND c.late_rows > 0 AND c.late_checked_at >= $3
     ORDER BY r.window_end, r.id, c.ordinal`, [entityId, exporterId, since]);
  return rows.map((row) => {
    const { identifier, window } = toExportRun(row);
    return { runIdentifier: identifier, window, dataType: row.data_type, rows: row.late_rows };
  });
}
