import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { followImport, viewImport } from './follow-import.ts';
import { exitStatus, report } from './import-status.ts';
import { startImport } from './start-import.ts';

type RedriveOptions = { apiKey?: string };

export const addRedriveCommand = (program: Command, run: Run) => program.command('redrive')
  .description('import the corrected rows of an import that has ended')
  .argument('<import_id>', 'the import whose errors were corrected')
  .argument('<file>', 'what `millrace errors <import_id> --csv` gave, corrected')
  .option('--api-key <key>', 'the SoR\'s key; fetched by MILLRACE_TOKEN when left out')
  .action((id: string, file: string, options: RedriveOptions) => run((context) => redrive(context, id, file, options)));

/** Imports the file as a child of the import, and prints what became of the rows of both. */
async function redrive(context: CommandContext, parentId: string, file: string, { apiKey }: RedriveOptions): Promise<number> {
  const { client, console } = context;
  const { sor } = await viewImport(client, parentId);
  if (!sor) return refuse(404, 'no_sor', `The System of Record of ${parentId} is gone.`);
  const id = await startImport(context, file, { sor: sor.identifier, apiKey, redriveOf: parentId });
  console.log(`import ${id}`);
  const child = await followImport(context, id);
  console.log(`${report(child)}\n\nimport ${parentId}\n${report(await viewImport(client, parentId))}`);
  return exitStatus(child);
}
