import { describe, expect, test } from 'vitest';
import { insertCustomerAttribute, updateCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { updateSorDisabled } from '../../../store/attributes/systems-of-records.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const KEYS = ['plan', 'score', 'vip', 'born', 'seen', 'tags'];

const { store, server, world } = useServer();

function template({ sor, apiKey }: World, { v3 = false, key = apiKey } = {}) {
  const query = new URLSearchParams({ sor_id: sor.identifier, api_key: key }).toString();
  return server.call('GET', `/api/attribute_values/template?${query}`, { v3 });
}

describe('the template of an import', () => {
  test('is a file to save, with a row for each attribute in the columns of the version', async () => {
    const v2 = await template(world);
    expect([v2.status, v2.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(v2.headers['content-disposition']).toBe(`attachment; filename="template-${world.sor.identifier}.csv"`);
    expect(v2.text).toBe(`user_id,attribute_key,value\n${KEYS.map((key) => `,${key},\n`).join('')}`);
    const v3 = await template(world, { v3: true });
    expect(v3.text).toBe(`user_id,attribute_key,value,action_type\n${KEYS.map((key) => `,${key},,\n`).join('')}`);
    const path = `/api/system_of_records/${world.sor.identifier}/template`;
    expect((await server.call('GET', path, { token: world.token, v3: true })).text).toBe(v3.text);
  });

  test('quotes a key that needs it, and leaves out what is disabled', async () => {
    const { db } = store;
    const own = await makeWorld(store);
    const { entity, sor, attributes } = own;
    await insertCustomerAttribute(db, entity.id, sor.id, { key: 'said, "é"', label: 'x', valueType: 'String' });
    await updateCustomerAttribute(db, entity.id, attributes['plan']!.id, { disabled: true });
    const lines = (await template(own)).text.split('\n');
    expect(lines).toEqual([
      'user_id,attribute_key,value',
      ...KEYS.slice(1).map((key) => `,${key},`),
      ',"said, ""é""",',
      '',
    ]);
    await updateSorDisabled(db, entity.id, sor.id, true);
    expect((await template(own)).text).toBe('user_id,attribute_key,value\n');
  });

  test('needs the key of the SoR, which no log shows', async () => {
    const stranger = await makeWorld(store);
    for (const key of ['made up', stranger.apiKey]) {
      const refused = await template(world, { key });
      expect([refused.status, refused.body.error_message]).toEqual([401, 'Invalid sor_id or api_key']);
    }
    expect(server.logs.length).toBeGreaterThan(0);
    expect(JSON.stringify(server.logs)).not.toContain(stranger.apiKey);
  });
});
