import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { followImport, viewImport } from '../imports/follow-import.ts';
import { exitStatus, hasEnded, report } from '../imports/import-status.ts';

export const addStatusCommand = (program: Command, run: Run) => program.command('status')
  .description('follow an import until it has ended; of one that has, tell what became of its rows')
  .argument('<import_id>')
  .action((id: string) => run((context) => printStatus(context, id)));

async function printStatus(context: CommandContext, id: string): Promise<number> {
  const now = await viewImport(context.client, id);
  const status = hasEnded(now) ? now : await followImport(context, id);
  context.console.log(report(status));
  return exitStatus(status);
}
