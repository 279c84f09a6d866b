/** Exporters as commands name and print them. */
import type { Client, ListedDataExporter } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext } from '../core/command-context.ts';
import { refuseUnknown } from '../core/nearest.ts';
import { table } from '../core/table.ts';

export const EXPORTER = ['<exporter>', 'its identifier, or its name'] as const;

export async function idOf({ client }: CommandContext, given: string): Promise<{ exporter_id: string }> {
  return { exporter_id: (await findExporter(client, given)).identifier };
}

/** Finds the exporter with an identifier, or else the one with a name; several may have the same name. */
export async function findExporter(client: Client, given: string): Promise<ListedDataExporter> {
  const exporters = await client.listDataExporters();
  const found = exporters.find(({ identifier }) => identifier === given);
  const named = exporters.filter(({ name }) => name === given);
  if (!found && named.length > 1) {
    const identifiers = named.map(({ identifier }) => identifier).join(', ');
    return refuse(
      409,
      'ambiguous',
      `${named.length} exporters are called ${given}: give an identifier (${identifiers})`,
    );
  }
  return found ?? named[0] ?? refuseUnknown('no_exporter', 'exporter', given, exporters);
}

export function showExporters(
  { console, terminal: { width } }: CommandContext,
  exporters: ListedDataExporter[],
): number {
  console.log(
    table(
      ['identifier', 'name', 'state', 'to', 'data', 'apps', 'last good run'],
      exporters.map((exporter) => [
        exporter.identifier,
        exporter.name,
        exporter.active ? 'active' : 'inactive',
        [exporter.bucket_name, exporter.subfolder].filter((part) => part !== '').join('/'),
        exporter.exported_data.join(', '),
        exporter.apps.map(({ name }) => name).join(', '),
        exporter.last_run_at?.slice(0, 16) ?? 'never',
      ]),
      width,
    ),
  );
  return 0;
}
