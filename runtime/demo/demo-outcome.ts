import { setTimeout as delay } from 'node:timers/promises';
import { type Client, stringify } from '../../api/client.ts';
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
