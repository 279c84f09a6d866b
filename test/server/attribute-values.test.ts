import { beforeAll, describe, expect, test } from 'vitest';
import { testStore, type TestStore } from '../harness/database.ts';
import { personId } from '../harness/people.ts';
import { makeWorld, type World } from '../harness/world.ts';
import { testServer, type TestServer } from './test-server.ts';

const CUSTOMER = personId(1);
const CHANGED = '2026-03-04T05:06:07.890Z';
const ADDED = '2026-01-02T00:00:00.000Z';

let store: TestStore;
let server: TestServer;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  server = await testServer(store);
  await insertValue('plan', { string_value: 'gold' });
  await insertValue('score', { number_value: '9223372036854775807' });
  await insertValue('vip', { boolean_value: false });
  await insertValue('born', { date_value: '1815-12-10' });
  await insertValue('seen', { datetime_value: '2026-01-02T03:04:05.678Z' });
  await insertValue('tags', { set_elements: ['a', 'b'], set_times: [ADDED, CHANGED] });
});

async function insertValue(key: string, columns: Record<string, unknown>): Promise<void> {
  const row = {
    entity_id: world.entity.id, sor_id: world.sor.id, customer_type: 0, attribute_id: world.attributes[key]!.id,
    changed_at: CHANGED, customer_id: CUSTOMER, ...columns,
  };
  const places = Object.keys(row).map((_, at) => `$${at + 1}`);
  const columnNames = Object.keys(row).join(', ');
  await store.db.query(
    `INSERT INTO attribute_values (${columnNames}) VALUES (${places.join(', ')})`, Object.values(row));
}

function read(query: Record<string, string>, v3 = false) {
  const parameters = new URLSearchParams({ sor_id: world.sor.identifier, customer_type: 'user_id', ...query });
  return server.call('GET', `/api/attribute_values?${parameters.toString()}`, { token: world.token, v3 });
}

describe('the values of a customer', () => {
  test('come back as they went in, down to the last digit', async () => {
    const { body, text } = await read({ customer_id: CUSTOMER });
    expect(body.result).toMatchObject({
      customer_id: CUSTOMER, customer_id_type: 'user_id',
      attribute_values: {
        plan: 'gold', vip: false, born: '1815-12-10', seen: '2026-01-02T03:04:05.678Z', tags: ['a', 'b'],
      },
    });
    expect(text).toContain('"score":9223372036854775807,');
  });

  test('come with their dates, those of a Set\'s elements in v2 only', async () => {
    const v2 = (await read({ customer_id: CUSTOMER, with_validity_dates: '' })).body.result.attribute_values;
    const v3 = (await read({ customer_id: CUSTOMER, with_validity_dates: 'true' }, true)).body.result.attribute_values;
    expect(v2.plan).toEqual({ value: 'gold', since: CHANGED });
    expect(v2.tags).toEqual({
      value: ['a', 'b'], since: CHANGED, elements: [{ value: 'a', since: ADDED }, { value: 'b', since: CHANGED }],
    });
    expect(v3.tags).toEqual({ value: ['a', 'b'], since: CHANGED });
  });

  test('of a customer without any are none', async () => {
    expect((await read({ customer_id: 'nobody' })).body.result.attribute_values).toEqual({});
    const asDevice = await read({ customer_id: CUSTOMER, customer_type: 'device_id' });
    expect(asDevice.body.result.attribute_values).toEqual({});
  });

  test.each([
    ['customer_id', { customer_id: '' }], ['customer_id', { customer_id: 'a\u0000' }],
    ['customer_id', { customer_id: 'x'.repeat(257) }],
    ['customer_type', { customer_id: 'a', customer_type: 'email' }], ['sor_id', { customer_id: 'a', sor_id: '' }],
    ['with_validity_dates', { customer_id: 'a', with_validity_dates: 'perhaps' }],
  ])('are refused by the name of the wrong parameter: %s', async (element, query) => {
    const refused = await read(query);
    expect([refused.status, refused.body.messages[0].element]).toEqual([400, element]);
  });

  test('of an unknown SoR, and of another entity\'s, are a 404', async () => {
    const stranger = await makeWorld(store);
    for (const sor_id of ['sor_unknown', stranger.sor.identifier]) {
      expect((await read({ customer_id: CUSTOMER, sor_id })).body.error_message).toBe('System of record not found');
    }
  });

  test('leave who read them in the audit log, by a hash and not by name', async () => {
    const hash = store.secrets.customerHash(world.entity.id, 'user_id', 'traced');
    await read({ customer_id: 'traced' });
    const { rows } = await store.db.query(
      'SELECT action, subject_kind, actor_id, subject FROM audit_log WHERE entity_id = $1 AND customer_hash = $2',
      [world.entity.id, hash]);
    expect(rows).toEqual([{ action: 'read', subject_kind: 'customer', actor_id: world.user.id, subject: null }]);
  });
});
