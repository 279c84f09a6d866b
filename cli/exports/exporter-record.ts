import type { Client, ListedDataExporter } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { nearestOf } from '../core/nearest.ts';

/** The exporter with an identifier, or else the one with a name: several may have the same. */
export async function findExporter(client: Client, given: string): Promise<ListedDataExporter> {
  const exporters = await client.listDataExporters();
  const found = exporters.find(({ identifier }) => identifier === given);
  const named = exporters.filter(({ name }) => name === given);
  if (!found && named.length > 1) {
    const identifiers = named.map(({ identifier }) => identifier).join(', ');
    return refuse(409, 'ambiguous', `${named.length} exporters are called ${given}: give an identifier (${identifiers})`);
  }
  return found ?? named[0]
    ?? refuse(404, 'no_exporter', `There is no exporter ${given}${nearestOf(given, exporters.map(({ name }) => name))}`);
}
