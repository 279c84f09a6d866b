import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { hasEnded, report } from '../imports/import-status.ts';

export const addCancelCommand = (program: Command, run: Run) => program.command('cancel')
  .description('cancel an import that has not ended; what it has imported stays')
  .argument('<import_id>')
  .action((id: string) => run((context) => cancel(context, id)));

async function cancel({ client, console }: CommandContext, id: string): Promise<number> {
  const status = await client.cancelImport({ params: { import_id: id } });
  if (hasEnded(status)) console.log(report(status));
  else console.log(`It ends within moments. To see how it ended: millrace status ${id}`);
  return 0;
}
