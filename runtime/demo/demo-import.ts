import type { Client } from '../../api/client.ts';
import { demoFile } from './demo-file.ts';
import { errorTable, outcome, readBack } from './demo-outcome.ts';
import type { DemoSor } from './demo-sor.ts';

/** Imports the sample file over HTTP, as a data engineer would, and tells what came of it. */
export async function demoImport(client: Client, sor: DemoSor, say: (text: string) => void): Promise<void> {
  const { import_id: id } = await client.importAttributeValues({
    body: { sor_id: sor.identifier, api_key: sor.apiKey, skip_email: true },
    file: new File([new Uint8Array(demoFile())], 'customers.csv'),
  });
  const view = () => client.viewImport({ params: { import_id: id } });
  const { state, rows } = await outcome(view, (status) => status.ended_at !== null);
  say(
    `\nImport ${id} ${state}: ${rows.read} rows read = ${rows.ok} ok + ${rows.ignored} ignored + ${rows.failed} failed\n`,
  );
  say(await errorTable(client, id));
  say(`\n${await readBack(client, sor, 'customer-3@example.com')}`);
}
