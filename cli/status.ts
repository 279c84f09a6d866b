import { Command } from 'commander';
import type { Server } from './client.ts';
import { followImport, viewImport } from './follow-import.ts';
import { exitStatus, hasEnded, report } from './import-status.ts';
import { run } from './run.ts';

export const statusCommand = new Command('status')
  .description('follow an import until it has ended; of one that has, tell what became of its rows')
  .argument('<import_id>')
  .action((id: string) => run((server) => printStatus(server, id)));

async function printStatus(server: Server, id: string): Promise<number> {
  const now = await viewImport(server, id);
  const status = hasEnded(now) ? now : await followImport(server, id);
  console.log(report(status));
  return exitStatus(status);
}
