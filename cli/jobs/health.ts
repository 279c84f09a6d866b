/** The command `millrace health`. */
import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';

export const addHealthCommand = (program: Command, run: Run) =>
  program
    .command('health')
    .description('show each part of the service, and whether it is ready; status 1 if one is not')
    .action(() => run(show));

/** Needs no token. */
async function show({ client, console, terminal: { width }, setResult }: CommandContext): Promise<number> {
  const { version } = await client.checkLiveness();
  const health = await client.checkReadiness({ query: { parts: 'all' } });
  setResult({ version, ...health });
  console.log(`Millrace ${version}`);
  const rows = health.parts.map(({ name, ready, reason = '' }) => [name, ready ? 'ready' : 'not ready', reason]);
  console.log(table(['part', 'state', 'reason'], rows, width));
  return health.ready ? 0 : 1;
}
