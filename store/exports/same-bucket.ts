import type { DataExporter } from './data-exporter-record.ts';
import type { ExportDefinition } from './export-run-record.ts';

const PLACE = ['type', 'bucketName', 'region', 'endpoint', 'accountId', 'roleName'] as const;

/** Returns whether an exporter writes to the bucket that a run claimed: its secrets are given for one bucket. */
export function isSameBucket(definition: ExportDefinition, exporter: DataExporter): boolean {
  return PLACE.every((member) => definition[member] === exporter[member]);
}
