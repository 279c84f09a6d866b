/** Windows that an exporter has exported by receipt, and the run that has fallen behind. */
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import { type ExportRun, type ExportRunColumns, toExportRun } from './export-run-record.ts';

/** The newest good run of a window; `before`: the end of the window before it, null of the first. */
export type ExportedWindow = { run: ExportRun; before: Date | null };

export type WindowRange = { from: Date | null; to: Date | null };

/** Uses export_runs_by_window. A window exported again counts once; backfills have windows of another kind. */
const WINDOWS = `SELECT DISTINCT ON (window_end, window_start) * FROM export_runs
  WHERE entity_id = $1 AND exporter_id = $2 AND state = 'finished' AND NOT is_covered AND days IS NULL
  ORDER BY window_end, window_start, id DESC`;
const IN_RANGE = '($3::timestamptz IS NULL OR window_end > $3) AND ($4::timestamptz IS NULL OR window_start < $4)';

export async function listExportedWindows(
  db: Queryable,
  entityId: number,
  exporterId: number,
  { from, to, offset, limit }: WindowRange & PageRange,
): Promise<Page<ExportedWindow>> {
  const items = readRows(
    await db.query(
      `SELECT * FROM (SELECT w.*, lag(window_end) OVER (ORDER BY window_end, window_start) AS before FROM (${WINDOWS}) w) w
     WHERE ${IN_RANGE} ORDER BY window_end, window_start OFFSET $5 LIMIT $6`,
      [entityId, exporterId, from, to, offset, limit],
    ),
    ({ before, ...columns }: ExportRunColumns & { before: Date | null }) => ({ run: toExportRun(columns), before }),
  );
  return {
    items,
    total: await countRows(db, `FROM (${WINDOWS}) w WHERE ${IN_RANGE}`, [entityId, exporterId, from, to]),
  };
}

/** Finds the last run that was to export what came since the last good one, and has not. */
export async function findRunBehind(
  db: Queryable,
  entityId: number,
  exporterId: number,
  since: Date | null,
): Promise<ExportRun | null> {
  return readRow(
    await db.query(
      `SELECT * FROM export_runs WHERE entity_id = $1 AND exporter_id = $2 AND cause IN ('schedule', 'request') AND state <> 'finished'
       AND ($3::timestamptz IS NULL OR window_end > $3) ORDER BY id DESC LIMIT 1`,
      [entityId, exporterId, since],
    ),
    toExportRun,
  );
}
