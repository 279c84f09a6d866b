import { EXPORT_DATA_TYPES, exportDataType, type ExportDataType } from '../../domain/exports/export-data-type.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { findExporterById } from '../../store/exports/data-exporters.ts';
import type { ExportDefinition, ExportRun } from '../../store/exports/export-run-record.ts';
import { findExportRunById } from '../../store/exports/export-runs.ts';
import type { Dependencies } from '../dependencies.ts';

/** A run with its exporter, as they stood when an attempt at its files began. */
export type ExportJob = { run: ExportRun; definition: ExportDefinition; exporter: DataExporter };

/**
 * A run that was claimed; null when another generation has taken over, or its exporter is deleted. It may have ended.
 */
export async function findExportJob(
  { db }: Pick<Dependencies, 'db'>,
  { entityId, jobId, generation }: JobClaim,
): Promise<ExportJob | null> {
  const run = await findExportRunById(db, entityId, jobId);
  if (run?.generation !== generation || !run.definition) return null;
  const exporter = await findExporterById(db, entityId, run.exporterId);
  return exporter && { run, definition: run.definition, exporter };
}

/** Returns the types of data that a run writes, each once, in the order in which it writes them. */
export function typesOf({ exportedData }: Pick<ExportDefinition, 'exportedData'>): ExportDataType[] {
  const types = new Set(exportedData.map(exportDataType));
  return EXPORT_DATA_TYPES.filter((type) => types.has(type));
}
