// Runs of exporters.
import { exportFolder, windowName } from '../../domain/exports/export-window.ts';
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { IS_COUNTED, IS_WAITING, runsOf } from '../jobs/runs.ts';
import type { DataExporter } from './data-exporter-record.ts';
import { exporters } from './data-exporters.ts';
import {
  EXPORTED_MEMBERS,
  type ExportDefinition,
  type ExportRun,
  type ExportRunColumns,
  type NewExportRun,
  toExportRun,
} from './export-run-record.ts';

const FOLLOWS_CURSOR = `cause IN ('schedule', 'request')`;
const IS_DUE = `cause = 'schedule' AND state = 'accepted' AND started_at IS NULL`;

export const exportRuns = runsOf<ExportRun, object, DataExporter>({
  kind: 'export',
  owners: exporters,
  ownerOf: ({ exporterId }) => exporterId,
  toRun: toExportRun,
  /** The first claim fixes what is exported, and the window's start. */
  claimed: (columns: ExportRunColumns, exporter) => {
    const start = columns.windowStart ?? exporter.exportedUntil ?? exporter.exportsSince;
    return {
      set: `window_start = coalesce(window_start, $3, '-infinity'), definition = coalesce(definition, $4),
        is_covered = ${FOLLOWS_CURSOR} AND window_end <= coalesce(window_start, $3, '-infinity')`,
      values: [start instanceof Date ? start : null, JSON.stringify(definitionOf(exporter, columns, start))],
    };
  },
  // One that counts the time already, one that exports until the end $4, or a scheduled one that has not begun.
  covering: {
    where: `${IS_COUNTED}
      OR (${FOLLOWS_CURSOR} AND state IN ('accepted', 'running', 'finished') AND (window_end >= $4 OR (${IS_DUE})))`,
    order: `${IS_COUNTED} DESC, id`,
    set: `window_end = CASE WHEN ${IS_DUE} THEN greatest(window_end, $4) ELSE window_end END`,
  },
  canceled: { set: 'ended_at = now()' },
  hasNotBegun: 'started_at IS NULL',
});
export const {
  find: findExportRun,
  findById: findExportRunById,
  list: listExportRuns,
  lock: lockExportRun,
  claim: claimExportRun,
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

/** Returns the identifier of a requested run that has not begun, of a run's rerun, or of a backfill of these days. */
export function findOpenExportRun(
  db: Queryable,
  entityId: number,
  exporterId: number,
  asked: 'waiting' | Pick<NewExportRun, 'rerunOf' | 'days'>,
): Promise<string | null> {
  if (asked === 'waiting') return exportRuns.findIdentifier(db, entityId, exporterId, IS_WAITING);
  const isOfWindow = `state IN ('accepted', 'running') AND (rerun_of = $3 OR days = $4)`;
  return exportRuns.findIdentifier(db, entityId, exporterId, isOfWindow, [asked.rerunOf ?? null, daysName(asked.days)]);
}

function definitionOf(
  exporter: DataExporter,
  columns: ExportRunColumns,
  start: Date | number | null,
): ExportDefinition {
  const { window, days } = toExportRun({ ...columns, windowStart: start });
  const members = EXPORTED_MEMBERS.map((member) => [member, exporter[member]]);
  return { ...Object.fromEntries(members), folder: exportFolder(exporter, windowName(window, days)) };
}

export async function countExportedRows(db: Queryable, entityId: number, runId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT coalesce(sum(rows), 0)::bigint AS count FROM export_records WHERE entity_id = $1 AND run_id = $2',
    [entityId, runId],
  );
  return rows[0]!.count;
}

export type LateRows = { runIdentifier: string; window: ExportRun['window']; dataType: string; rows: number };

/** Lists an exporter's windows that were searched for late rows since a moment, oldest first. */
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
