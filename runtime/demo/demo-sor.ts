import { call, type Server } from '../../cli/core/client.ts';
import { DEMO_ATTRIBUTES } from './demo-file.ts';

/** The System of Records that the demo's flows write to, and a key of it. */
export type DemoSor = { identifier: string; apiKey: string };

export async function makeDemoSor(server: Server, say: (text: string) => void): Promise<DemoSor> {
  const { identifier, api_keys: apiKeys } = await call<{ identifier: string; api_keys: string[] }>(
    server, 'POST', '/api/system_of_records', { name: 'Demo CRM' });
  for (const [key, type] of DEMO_ATTRIBUTES) {
    const attribute = await call<{ identifier: string }>(
      server, 'POST', '/api/customer_attributes', { sor_id: identifier, key, label: key, value_type: type });
    if (key === 'legacy') await call(server, 'PUT', `/api/customer_attributes/${attribute.identifier}`, { disabled: true });
  }
  say(`\nSystem of Record ${identifier} ("Demo CRM") with ${DEMO_ATTRIBUTES.length} attributes`);
  return { identifier, apiKey: apiKeys[0]! };
}
