import type { Client } from '../../api/client.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';

/** The System of Records that the demo's flows write to, with its API key. */
export type DemoSor = { identifier: string; apiKey: string };

export async function makeDemoSor(client: Client, say: (text: string) => void): Promise<DemoSor> {
  const { identifier, api_keys: apiKeys } = await client.createSystemOfRecord({ body: { name: 'Demo CRM' } });
  for (const [key, type] of DEMO_ATTRIBUTES) {
    const attribute = await client.createCustomerAttribute({
      body: { sor_id: identifier, key, label: key, value_type: type },
    });
    if (key !== 'legacy') continue;
    await client.updateCustomerAttribute({ params: { ca_identifier: attribute.identifier }, body: { disabled: true } });
  }
  say(`\nSystem of Record ${identifier} ("Demo CRM") with ${DEMO_ATTRIBUTES.length} attributes`);
  return { identifier, apiKey: apiKeys[0]! };
}

/** Attributes of the demo's System of Records; `legacy` is disabled. */
const DEMO_ATTRIBUTES: [key: string, type: ValueType][] = [
  ['plan', 'String'],
  ['orders', 'Number'],
  ['newsletter', 'Boolean'],
  ['born', 'Date'],
  ['last_seen', 'Datetime'],
  ['interests', 'Set'],
  ['legacy', 'String'],
];
