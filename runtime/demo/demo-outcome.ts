import { setTimeout as delay } from 'node:timers/promises';
import { call, type Server } from '../../cli/core/client.ts';
import { table } from '../../cli/core/table.ts';
import type { DemoSor } from './demo-sor.ts';

type ImportError = { line: number; error_type: string; key: string | null; message: string };

/** Asks how something stands until it is over. */
export async function outcome<Status>(server: Server, path: string, isOver: (status: Status) => boolean): Promise<Status> {
  for (;;) {
    const status = await call<Status>(server, 'GET', path);
    if (isOver(status)) return status;
    await delay(50);
  }
}

/** A table of the errors of an import, or of a request of the feed. */
export async function errorTable(server: Server, id: string): Promise<string> {
  const { attribute_errors: errors } = await call<{ attribute_errors: ImportError[] }>(
    server, 'GET', `/api/attribute_values/import_errors?import_id=${id}`);
  return table(['line', 'error', 'key', 'reason'], errors.map(({ line, error_type: type, key, message }) =>
    [String(line), type, cut(key ?? '', 20), cut(message, 90)]));
}

/** A customer's values as they are now, as JSON. */
export async function readBack(server: Server, sor: DemoSor, customerId: string): Promise<string> {
  const query = new URLSearchParams({ sor_id: sor.identifier, customer_id: customerId, customer_type: 'user_id' });
  const { attribute_values: values } = await call<{ attribute_values: object }>(server, 'GET', `/api/attribute_values?${query}`);
  return `Read back, ${customerId}: ${JSON.stringify(values)}`;
}

/** A text that is too long for a table's column. */
export function cut(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text;
}
