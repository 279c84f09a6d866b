import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { writeOut } from '../core/write-out.ts';
import { findSorKey } from './sor-key.ts';

type TemplateOptions = { sor: string; apiKey?: string };

export const addTemplateCommand = (program: Command, run: Run) => program.command('template')
  .description('print a CSV file to fill in: its header, and a row for each attribute')
  .requiredOption('--sor <identifier>', 'the System of Record to import into')
  .option('--api-key <key>', 'the SoR\'s key; fetched by MILLRACE_TOKEN when left out')
  .action((options: TemplateOptions) => run((context) => printTemplate(context, options)));

async function printTemplate(context: CommandContext, { sor, apiKey }: TemplateOptions): Promise<number> {
  const query = { sor_id: sor, api_key: apiKey ?? await findSorKey(context, sor) };
  await writeOut(context, await context.client.stream.downloadImportTemplate({ query }), undefined);
  return 0;
}
