import { call, type Server } from '../../cli/core/client.ts';
import { demoFile } from './demo-file.ts';
import { errorTable, outcome, readBack } from './demo-outcome.ts';
import type { DemoSor } from './demo-sor.ts';

type Status = {
  state: string; rows: { read: number; ok: number; ignored: number; failed: number }; ended_at: string | null;
};

/** Imports the sample file over HTTP, as a data engineer would, and tells what came of it. */
export async function demoImport(server: Server, sor: DemoSor, say: (text: string) => void): Promise<void> {
  const form = new FormData();
  form.set('sor_id', sor.identifier);
  form.set('api_key', sor.apiKey);
  form.set('skip_email', 'true');
  form.set('file', new Blob([new Uint8Array(demoFile())]), 'customers.csv');
  const { import_id: id } = await call<{ import_id: string }>(server, 'POST', '/api/attribute_values/batch_import', form);
  const { state, rows } = await outcome<Status>(server, `/api/attribute_values/imports/${id}`, (status) => status.ended_at !== null);
  say(`\nImport ${id} ${state}: ${rows.read} rows read = ${rows.ok} ok + ${rows.ignored} ignored + ${rows.failed} failed\n`);
  say(await errorTable(server, id));
  say(`\n${await readBack(server, sor, 'customer-3@example.com')}`);
}
