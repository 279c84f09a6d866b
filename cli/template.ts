import { Command } from 'commander';
import { download, type Server } from './client.ts';
import { run } from './run.ts';
import { findSorKey } from './sor-key.ts';
import { writeOut } from './write-out.ts';

type TemplateOptions = { sor: string; apiKey?: string };

export const templateCommand = new Command('template')
  .description('print a CSV file to fill in: its header, and a row for each attribute')
  .requiredOption('--sor <identifier>', 'the System of Record to import into')
  .option('--api-key <key>', 'the SoR\'s key; fetched by MILLRACE_TOKEN when left out')
  .action((options: TemplateOptions) => run((server) => printTemplate(server, options)));

async function printTemplate(server: Server, { sor, apiKey }: TemplateOptions): Promise<number> {
  const query = new URLSearchParams({ sor_id: sor, api_key: apiKey ?? await findSorKey(server, sor) });
  await writeOut(await download(server, `/api/attribute_values/template?${query}`), undefined);
  return 0;
}
