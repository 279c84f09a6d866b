import { call, type Server } from '../../cli/core/client.ts';
import { table } from '../../cli/core/table.ts';
import { errorTable, outcome, readBack } from './demo-outcome.ts';
import type { DemoSor } from './demo-sor.ts';

type Status = {
  state: string; values: { in: number; ok: number; ignored: number; failed: number }; done_at: string | null;
};

/** One of those that the sample file brings. */
const CUSTOMER = 'customer-3@example.com';

/** What a shop tells as it happens. One is no number; null removes a value. */
const VALUES = [
  { attribute_key: 'plan', attribute_value: 'platinum' },
  { attribute_key: 'interests', attribute_value: 'chess', action_type: 'ADD' },
  { attribute_key: 'orders', attribute_value: 'ten' },
  { attribute_key: 'newsletter', attribute_value: null },
].map((value) => ({ customer_id: CUSTOMER, ...value }));

/** Feeds a few values as JSON, as a CRM integrator would, and tells what came of them. */
export async function demoFeed(server: Server, sor: DemoSor, say: (text: string) => void): Promise<void> {
  const { requestId } = await call<{ requestId: string }>(server, 'POST', '/api/attribute_values', {
    sor: sor.identifier, api_key: sor.apiKey, customer_attribute_values: VALUES,
  });
  const { state, values } = await outcome<Status>(
    server, `/api/attribute_values/feeds/${requestId}`, (status) => status.done_at !== null);
  say(`\nFeed ${requestId} ${state}: ${values.in} values = ${values.ok} ok + ${values.ignored} ignored + ${values.failed} failed\n`);
  say(table(['line', 'value'], VALUES.map((value, line) => [String(line), JSON.stringify(value)])));
  say(`\n${await errorTable(server, requestId)}`);
  say(`\n${await readBack(server, sor, CUSTOMER)}`);
}
