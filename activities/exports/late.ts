import { APPEND_ONLY } from '../../domain/exports/export-data-type.ts';
import { type ExportRecord, listExportRecords, updateLateRows } from '../../store/exports/export-files.ts';
import { addLateRowsFound, listLastWindows } from '../../store/exports/export-run-progress.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { findExportRunById } from '../../store/exports/export-runs.ts';
import { countLate } from '../../store/exports/export-sources.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Attempt, writeHeld } from './attempt.ts';
import { scopeOf } from './source.ts';

/** Number of an exporter's last windows that are read again. */
const WINDOWS = 7;

/**
 * Counts rows of earlier windows that were not visible when these were exported: committed later than a write may, or
 * came in by other ways. Their windows are to be exported again; the run shows how many.
 */
export async function lookForLateRows(deps: Dependencies, attempt: Attempt): Promise<void> {
  const { run } = attempt;
  if (run.window.kind === 'happened') return;
  const ids = await listLastWindows(deps.db, run.entityId, run.exporterId, { before: run.window.end, limit: WINDOWS });
  for (const id of ids) {
    const earlier = await findExportRunById(deps.db, run.entityId, id);
    // The window that this run exports again is whole now.
    if (earlier && !isSameWindow(earlier, run)) await lookAtRun(deps, attempt, earlier);
  }
}

function isSameWindow({ window: one }: ExportRun, { window: other }: ExportRun): boolean {
  return one.start?.getTime() === other.start?.getTime() && one.end.getTime() === other.end.getTime();
}

async function lookAtRun(deps: Dependencies, attempt: Attempt, earlier: ExportRun): Promise<void> {
  const scope = await scopeOf(deps.db, earlier);
  for (const record of await listExportRecords(deps.db, earlier.entityId, [earlier.id])) {
    if (record.snapshot === null || !APPEND_ONLY.has(record.dataType)) continue;
    attempt.scope.throwIfEnding();
    await noteLate(
      deps,
      attempt,
      record,
      await countLate(attempt.sessions[0], record.dataType, scope, record.snapshot),
    );
  }
}

async function noteLate(
  deps: Dependencies,
  { key }: Attempt,
  record: ExportRecord,
  lateRows: number | null,
): Promise<void> {
  await writeHeld(deps, key, async (tx) => {
    const more = await updateLateRows(tx, key.entityId, record, lateRows);
    if (more > 0) await addLateRowsFound(tx, key, more);
  });
}
