import type { Client } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { errorTable, outcome, readBack } from './demo-outcome.ts';
import type { DemoSor } from './demo-sor.ts';

/** A customer of the sample file. */
const CUSTOMER = 'customer-3@example.com';

/** Values that a shop feeds. One is not a number; null removes a value. */
const VALUES = [
  { attribute_key: 'plan', attribute_value: 'platinum' },
  { attribute_key: 'interests', attribute_value: 'chess', action_type: 'ADD' },
  { attribute_key: 'orders', attribute_value: 'ten' },
  { attribute_key: 'newsletter', attribute_value: null },
].map((value) => ({ customer_id: CUSTOMER, ...value }));

/** Feeds a few values as JSON, as a CRM integrator would, and shows the result. */
export async function demoFeed(client: Client, sor: DemoSor, say: (text: string) => void): Promise<void> {
  const { requestId } = await client.feedAttributeValues({
    body: { sor: sor.identifier, api_key: sor.apiKey, customer_attribute_values: VALUES },
  });
  const view = () => client.viewFeedRequest({ params: { request_id: requestId } });
  const { state, values } = await outcome(view, (status) => status.done_at !== null);
  say(
    `\nFeed ${requestId} ${state}: ${values.in} values = ${values.ok} ok + ${values.ignored} ignored + ${values.failed} failed\n`,
  );
  say(
    table(
      ['line', 'value'],
      VALUES.map((value, line) => [String(line), JSON.stringify(value)]),
    ),
  );
  say(`\n${await errorTable(client, requestId)}`);
  say(`\n${await readBack(client, sor, CUSTOMER)}`);
}
