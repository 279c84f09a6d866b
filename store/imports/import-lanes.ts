/** Lanes of an import, which merge its rows in parallel: their progress and counts. */
import type { RunErrorType } from '../../domain/imports/import-error-type.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';

export type ErrorCounts = Partial<Record<RunErrorType, number>>;

/** Counts of rows without the header; rowsIn is the sum of the others. */
export type RowCounts = {
  rowsIn: number;
  rowsOk: number;
  rowsIgnored: number;
  rowsFailed: number;
  errorsByType: ErrorCounts;
  /** Accepted rows whose customer id is probably a mistake. */
  suspiciousIds: number;
};

/** Progress of a lane: its rows that begin before `nextOffset` are done. */
export type LaneProgress = RowCounts & Row<'import_lanes', 'nextOffset' | 'nextLine' | 'cellsEmpty' | 'cellsUnnamed'>;

export type LaneRef = { entityId: number; importId: number; generation: number; lane: number };

const COLUMNS = `next_offset, next_line, rows_in, rows_ok, rows_ignored, rows_failed, errors_by_type, cells_empty, cells_unnamed,
  suspicious_ids`;

export async function listImportLanes(db: Queryable, entityId: number, importId: number): Promise<LaneProgress[]> {
  return readRows<LaneProgress>(
    await db.query(`SELECT ${COLUMNS} FROM import_lanes WHERE entity_id = $1 AND import_id = $2 ORDER BY lane`, [
      entityId,
      importId,
    ]),
  );
}

/** Locks the lane; null after a new generation or the import's end: both raise the generation of all lanes. */
export async function lockImportLane(
  tx: Tx,
  { entityId, importId, generation, lane }: LaneRef,
): Promise<LaneProgress | null> {
  return readRow<LaneProgress>(
    await tx.query(
      `SELECT ${COLUMNS} FROM import_lanes
     WHERE entity_id = $1 AND import_id = $2 AND lane = $3 AND generation = $4 FOR UPDATE`,
      [entityId, importId, lane, generation],
    ),
  );
}

/** Call it in the transaction of the rows that it counts. */
export async function updateImportLane(
  tx: Tx,
  { entityId, importId, lane }: LaneRef,
  progress: LaneProgress,
): Promise<void> {
  await tx.query(
    `UPDATE import_lanes SET next_offset = $4, next_line = $5, rows_in = $6, rows_ok = $7, rows_ignored = $8,
       rows_failed = $9, errors_by_type = $10, cells_empty = $11, suspicious_ids = $12, cells_unnamed = $13
     WHERE entity_id = $1 AND import_id = $2 AND lane = $3`,
    [
      entityId,
      importId,
      lane,
      progress.nextOffset,
      progress.nextLine,
      progress.rowsIn,
      progress.rowsOk,
      progress.rowsIgnored,
      progress.rowsFailed,
      progress.errorsByType,
      progress.cellsEmpty,
      progress.suspiciousIds,
      progress.cellsUnnamed,
    ],
  );
}

export function sumErrors(counts: readonly ErrorCounts[]): ErrorCounts {
  const sum: ErrorCounts = {};
  for (const each of counts) {
    for (const [type, count] of Object.entries(each) as [RunErrorType, number][]) sum[type] = (sum[type] ?? 0) + count;
  }
  return sum;
}
