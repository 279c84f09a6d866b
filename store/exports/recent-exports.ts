import type { ExportDataType } from '../../domain/exports/export-data-type.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export type RecentExport = Row<'export_records', 'identifier' | 'files' | 'rows', { dataType: ExportDataType }> &
  Row<'export_runs', 'windowEnd'>;

const DAYS = 31;

/** Lists an exporter's runs that finished in the last 31 days, by windows and in the order of writing. */
export async function listRecentExports(db: Queryable, entityId: number, exporterId: number): Promise<RecentExport[]> {
  // A backfill of days may end at the same time as a window: both are shown.
  return readRows<RecentExport>(
    await db.query(
      `SELECT r.identifier, run.window_end, r.data_type, r.files, r.rows
     FROM (
       SELECT DISTINCT ON (window_end, window_start, days) entity_id, id, window_end FROM export_runs
       WHERE entity_id = $1 AND exporter_id = $2 AND state = 'finished' AND NOT is_covered
         AND ended_at >= now() - make_interval(days => ${DAYS})
       ORDER BY window_end, window_start, days, id DESC
     ) run
     JOIN export_records r ON r.entity_id = run.entity_id AND r.run_id = run.id
     ORDER BY run.window_end, run.id, r.ordinal`,
      [entityId, exporterId],
    ),
  );
}
