import { refuse } from '../../domain/core/refusal.ts';
import { call, type Server } from '../core/client.ts';
import { nearestOf } from '../core/nearest.ts';

/** What `GET /api/data_exporters` tells of each. */
export type ExporterRecord = {
  identifier: string; name: string; active: boolean; apps: { name: string }[]; bucket_name: string; subfolder: string;
  exported_data: string[]; last_run_at: string | null;
};

export function listExporters(server: Server): Promise<ExporterRecord[]> {
  return call<ExporterRecord[]>(server, 'GET', '/api/data_exporters');
}

/** The exporter with an identifier, or else the one with a name: several may have the same. */
export async function findExporter(server: Server, given: string): Promise<ExporterRecord> {
  const exporters = await listExporters(server);
  const found = exporters.find(({ identifier }) => identifier === given);
  const named = exporters.filter(({ name }) => name === given);
  if (!found && named.length > 1) {
    const identifiers = named.map(({ identifier }) => identifier).join(', ');
    return refuse(409, 'ambiguous', `${named.length} exporters are called ${given}: give an identifier (${identifiers})`);
  }
  return found ?? named[0]
    ?? refuse(404, 'no_exporter', `There is no exporter ${given}${nearestOf(given, exporters.map(({ name }) => name))}`);
}

export function exporterPath(identifier: string): string {
  return `/api/data_exporters/${encodeURIComponent(identifier)}`;
}
