import { APPEND_ONLY } from '../../domain/exports/export-data-type.ts';
import { type ExportRecord, listExportRecords, updateLateRows } from '../../store/exports/export-files.ts';
import { addLateRowsFound, listLastWindows } from '../../store/exports/export-run-progress.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { findExportRunById } from '../../store/exports/export-runs.ts';
import { countLate } from '../../store/exports/export-sources.ts';
import type { Needs } from '../needs.ts';
import { type Attempt, writeHeld } from './attempt.ts';
import { scopeOf } from './source.ts';

/** So many of an exporter's last windows are looked at again. */
const WINDOWS = 7;

/**
 * Counts rows of earlier windows that nobody could see when these were exported: whatever committed later than a write may, or
 * came in by other ways. Their windows are to be exported again; it is told how many they are.
 */
export async function lookForLateRows(needs: Needs, attempt: Attempt): Promise<void> {
  const { run } = attempt;
  if (run.window.kind === 'happened') return;
  const ids = await listLastWindows(needs.db, run.entityId, run.exporterId, { before: run.window.end, limit: WINDOWS });
  for (const id of ids) {
    const earlier = await findExportRunById(needs.db, run.entityId, id);
    // What this run exports again is whole now.
    if (earlier && !isSameWindow(earlier, run)) await lookAtRun(needs, attempt, earlier);
  }
}

function isSameWindow({ window: one }: ExportRun, { window: other }: ExportRun): boolean {
  return one.start?.getTime() === other.start?.getTime() && one.end.getTime() === other.end.getTime();
}

async function lookAtRun(needs: Needs, attempt: Attempt, earlier: ExportRun): Promise<void> {
  const scope = await scopeOf(needs.db, earlier);
  for (const record of await listExportRecords(needs.db, earlier.entityId, [earlier.id])) {
    if (record.snapshot === null || !APPEND_ONLY.has(record.dataType)) continue;
    attempt.scope.throwIfEnding();
    await noteLate(needs, attempt, record, await countLate(attempt.sessions[0], record.dataType, scope, record.snapshot));
  }
}

async function noteLate(needs: Needs, { key }: Attempt, record: ExportRecord, lateRows: number | null): Promise<void> {
  await writeHeld(needs, key, async (tx) => {
    const more = await updateLateRows(tx, key.entityId, record, lateRows);
    if (more > 0) await addLateRowsFound(tx, key, more);
  });
}
