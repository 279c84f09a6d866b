import { Command } from 'commander';
import { call, type Server } from './client.ts';
import { hasEnded, type ImportStatus, report } from './import-status.ts';
import { run } from './run.ts';

export const cancelCommand = new Command('cancel')
  .description('cancel an import that has not ended; what it has imported stays')
  .argument('<import_id>')
  .action((id: string) => run((server) => cancel(server, id)));

async function cancel(server: Server, id: string): Promise<number> {
  const status = await call<ImportStatus>(server, 'POST', `/api/attribute_values/imports/${encodeURIComponent(id)}/cancel`);
  if (hasEnded(status)) console.log(report(status));
  else console.log(`It ends within moments. To see how it ended: millrace status ${id}`);
  return 0;
}
