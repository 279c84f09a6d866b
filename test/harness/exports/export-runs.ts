import type { JobKey } from '../../../domain/jobs/job.ts';
import { write } from '../../../store/core/database.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import type { ExportRun, NewExportRun } from '../../../store/exports/export-run-record.ts';
import { claimExportRun, findExportRunById, insertExportRun } from '../../../store/exports/export-runs.ts';
import type { TestStore } from '../core/database.ts';

export const instant = (text: string): Date => new Date(text);

/** The row of a run, which was asked for unless told otherwise. */
export async function storedExportRun(
  { db }: TestStore,
  { entityId, id }: DataExporter,
  end: Date,
  run: Partial<NewExportRun> = {},
): Promise<ExportRun> {
  return (await insertExportRun(db, entityId, {
    exporterId: id,
    cause: 'request',
    window: { start: null, end },
    ...run,
  }))!;
}

/** Claims a run as a workflow does; null where it has to wait. */
export function claimed(
  { db }: TestStore,
  { entityId, id }: ExportRun,
  workflow = 'workflow',
): Promise<ExportRun | null> {
  return write(db, (tx) => claimExportRun(tx, entityId, id, workflow));
}

export function keyOf({ entityId, id: jobId, generation }: ExportRun): JobKey {
  return { entityId, jobId, generation };
}

export async function runNow({ db }: TestStore, { entityId, id }: ExportRun): Promise<ExportRun> {
  return (await findExportRunById(db, entityId, id))!;
}
