/** Parts of the demo that wait for an outcome and print it. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, stringify } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import type { DemoSor } from './demo-server.ts';

export async function outcome<Status>(
  view: () => Promise<Status>,
  isOver: (status: Status) => boolean,
): Promise<Status> {
  for (;;) {
    const status = await view();
    if (isOver(status)) return status;
    await delay(50);
  }
}

export async function readBack(client: Client, sor: DemoSor, customerId: string): Promise<string> {
  const query = { sor_id: sor.identifier, customer_id: customerId, customer_type: 'user_id' };
  const { attribute_values: values } = await client.readAttributeValues({ query });
  return `Read back, ${customerId}: ${stringify(values)}`;
}

export function cut(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text;
}

/** Returns the errors of an import or a feed request as a table. */
export async function errorTable(client: Client, id: string): Promise<string> {
  const { attribute_errors: errors } = await client.listImportErrors({ query: { import_id: id } });
  return table(
    ['line', 'error', 'key', 'reason'],
    errors.map(({ line, error_type: type = '', key, message }) => [
      String(line),
      type,
      cut(key ?? '', 20),
      cut(message, 90),
    ]),
  );
}
