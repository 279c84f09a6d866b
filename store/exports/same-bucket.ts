import type { DataExporter } from './data-exporter-record.ts';
import type { ExportDefinition } from './export-run-record.ts';

const PLACE = ['type', 'bucketName', 'region', 'endpoint', 'accountId', 'roleName'] as const;

/**
 * Whether an exporter writes to the same bucket, in the same way, as when a run of it was claimed: its secrets are
 * given for one place, and are not led to another.
 */
export function isSameBucket(definition: ExportDefinition, exporter: DataExporter): boolean {
  return PLACE.every((member) => definition[member] === exporter[member]);
}
