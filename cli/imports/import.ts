import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { followImport } from './follow-import.ts';
import { exitStatus, report } from './import-status.ts';
import { type ImportOptions, startImport } from './start-import.ts';

export const addImportCommand = (program: Command, run: Run) => program.command('import')
  .description('import a CSV file of attribute values, gzipped or not')
  .argument('<file|url>', 'a file here, or a URL that the server fetches')
  .requiredOption('--sor <identifier>', 'the System of Record to import into')
  .option('--api-key <key>', 'the SoR\'s key; fetched by MILLRACE_TOKEN when left out')
  .option('--dry-run', 'report what the import would do, and change nothing')
  .option('--header <name: value>', 'a header for the fetching of the URL; may be given again',
    (header: string, others: string[] | undefined) => [...(others ?? []), header])
  .action((source: string, options: ImportOptions) => run((context) => importFile(context, source, options)));

/** Starts an import, shows how far it is, and prints what became of the rows. */
async function importFile(context: CommandContext, source: string, options: ImportOptions): Promise<number> {
  const { server, console } = context;
  const id = await startImport(context, source, options);
  console.log(options.dryRun ? `import ${id}, a dry run` : `import ${id}`);
  if (!server.token) {
    console.log('MILLRACE_TOKEN is not set, so its progress cannot be shown.');
    return 0;
  }
  const status = await followImport(context, id);
  console.log(report(status));
  return exitStatus(status);
}
