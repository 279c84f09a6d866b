import { setTimeout as delay } from 'node:timers/promises';
import { call, type Server } from '../cli/client.ts';
import { table } from '../cli/table.ts';
import { DEMO_ATTRIBUTES, demoFile } from './demo-file.ts';

type Sor = { identifier: string; api_keys: string[] };
type Attribute = { identifier: string };
type Status = {
  state: string; rows: { read: number; ok: number; ignored: number; failed: number }; ended_at: string | null;
};
type ImportError = { line: number; error_type: string; key: string | null; message: string };

/** Imports the sample file over HTTP, as a data engineer would, and tells what came of it. */
export async function demoImport(server: Server, say: (text: string) => void): Promise<void> {
  const sor = await makeSor(server);
  say(`\nSystem of Record ${sor.identifier} ("Demo CRM") with ${DEMO_ATTRIBUTES.length} attributes`);
  const form = new FormData();
  form.set('sor_id', sor.identifier);
  form.set('api_key', sor.api_keys[0]!);
  form.set('skip_email', 'true');
  form.set('file', new Blob([new Uint8Array(demoFile())]), 'customers.csv');
  const { import_id: id } = await call<{ import_id: string }>(server, 'POST', '/api/attribute_values/batch_import', form);
  const { state, rows } = await ended(server, id);
  say(`Import ${id} ${state}: ${rows.read} rows read = ${rows.ok} ok + ${rows.ignored} ignored + ${rows.failed} failed\n`);
  const { attribute_errors: errors } = await call<{ attribute_errors: ImportError[] }>(
    server, 'GET', `/api/attribute_values/import_errors?import_id=${id}`);
  say(table(['line', 'error', 'key', 'reason'], errors.map(({ line, error_type: type, key, message }) =>
    [String(line), type, cut(key ?? '', 20), cut(message, 90)])));
  const customer = 'customer-3@example.com';
  const query = new URLSearchParams({ sor_id: sor.identifier, customer_id: customer, customer_type: 'user_id' });
  const { attribute_values: values } = await call<{ attribute_values: object }>(server, 'GET', `/api/attribute_values?${query}`);
  say(`\nRead back, ${customer}: ${JSON.stringify(values)}`);
}

async function makeSor(server: Server): Promise<Sor> {
  const sor = await call<Sor>(server, 'POST', '/api/system_of_records', { name: 'Demo CRM' });
  for (const [key, type] of DEMO_ATTRIBUTES) {
    const { identifier } = await call<Attribute>(
      server, 'POST', '/api/customer_attributes', { sor_id: sor.identifier, key, label: key, value_type: type });
    if (key === 'legacy') await call(server, 'PUT', `/api/customer_attributes/${identifier}`, { disabled: true });
  }
  return sor;
}

async function ended(server: Server, id: string): Promise<Status> {
  for (;;) {
    const status = await call<Status>(server, 'GET', `/api/attribute_values/imports/${id}`);
    if (status.ended_at) return status;
    await delay(50);
  }
}

function cut(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text;
}
