import { beforeAll, describe, expect, test } from 'vitest';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { write } from '../../../store/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const CUSTOMER = personId(1);
const CHANGED = '2026-03-04T05:06:07.890Z';
const ADDED = '2026-01-02T00:00:00.000Z';

const { store, server, world } = useServer();

beforeAll(async () => {
  await insertValue('plan', { string_value: 'gold' });
  await insertValue('score', { number_value: '9223372036854775807' });
  await insertValue('vip', { boolean_value: false });
  await insertValue('born', { date_value: '1815-12-10' });
  await insertValue('seen', { datetime_value: '2026-01-02T03:04:05.678Z' });
  await insertValue('tags', { set_elements: ['a', 'b'], set_times: [ADDED, CHANGED] });
});

async function insertValue(key: string, columns: Record<string, unknown>, customer = CUSTOMER): Promise<void> {
  const row = {
    entity_id: world.entity.id,
    sor_id: world.sor.id,
    customer_type: 0,
    attribute_id: world.attributes[key]!.id,
    changed_at: CHANGED,
    customer_id: customer,
    ...columns,
  };
  const places = Object.keys(row).map((_, at) => `$${at + 1}`);
  const columnNames = Object.keys(row).join(', ');
  await store.db.query(
    `INSERT INTO attribute_values (${columnNames}) VALUES (${places.join(', ')})`,
    Object.values(row),
  );
}

function read(query: Record<string, string>, v3 = false, path = '/api/attribute_values') {
  const parameters = new URLSearchParams({ sor_id: world.sor.identifier, customer_type: 'user_id', ...query });
  return server.call('GET', `${path}?${parameters.toString()}`, { token: world.token, v3 });
}

/** The second endpoint, whose result is the values alone. */
const readFlat = (query: Record<string, string>, v3 = false) => read(query, v3, '/api/customer_attribute_values');

describe('the values of a customer', () => {
  test('come back as they went in, down to the last digit', async () => {
    const { body, text } = await read({ customer_id: CUSTOMER });
    expect(body.result).toMatchObject({
      customer_id: CUSTOMER,
      customer_id_type: 'user_id',
      attribute_values: {
        plan: 'gold',
        vip: false,
        born: '1815-12-10',
        seen: '2026-01-02T03:04:05.678Z',
        tags: ['a', 'b'],
      },
    });
    expect(text).toContain('"score":9223372036854775807,');
  });

  test("come with their dates, those of a Set's elements in v2 only", async () => {
    const v2 = (await read({ customer_id: CUSTOMER, with_validity_dates: '' })).body.result.attribute_values;
    const v3 = (await read({ customer_id: CUSTOMER, with_validity_dates: 'true' }, true)).body.result.attribute_values;
    expect(v2.plan).toEqual({ value: 'gold', since: CHANGED });
    expect(v2.tags).toEqual({
      value: ['a', 'b'],
      since: CHANGED,
      elements: [
        { value: 'a', since: ADDED },
        { value: 'b', since: CHANGED },
      ],
    });
    expect(v3.tags).toEqual({ value: ['a', 'b'], since: CHANGED });
  });

  test('keep their dates while others of them change, and a removed one is gone', async () => {
    const customer = personId(2);
    await insertValue('plan', { string_value: 'gold', changed_at: ADDED }, customer);
    await insertValue('score', { number_value: '1', changed_at: ADDED }, customer);
    await insertValue('tags', { set_elements: ['old'], set_times: [ADDED], changed_at: ADDED }, customer);
    const place = (key: string) =>
      ({ customerType: 'user_id', customerId: customer, attributeId: world.attributes[key]!.id }) as const;
    await write(store.db, (tx) =>
      mergeAttributeValues(
        tx,
        store.secrets,
        world.entity.id,
        world.sor.id,
        prepareChanges([
          { kind: 'set', line: 1, ...place('tags'), action: 'ADD', elements: ['old', 'new'] },
          { kind: 'value', line: 2, ...place('score'), valueType: 'Number', value: null },
          { kind: 'value', line: 3, ...place('plan'), valueType: 'String', value: 'gold' },
        ]),
      ),
    );
    const v2 = (await read({ customer_id: customer, with_validity_dates: 'true' })).body.result.attribute_values;
    const since = v2.tags.since as string;
    expect(since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(since)).toBeGreaterThan(Date.parse(ADDED));
    const elements = [
      { value: 'old', since: ADDED },
      { value: 'new', since },
    ];
    expect(v2).toEqual({ plan: { value: 'gold', since: ADDED }, tags: { value: ['old', 'new'], since, elements } });
    const v3 = (await read({ customer_id: customer, with_validity_dates: 'true' }, true)).body.result.attribute_values;
    expect(v3).toEqual({ plan: { value: 'gold', since: ADDED }, tags: { value: ['old', 'new'], since } });
  });

  test('come as a flat map, too', async () => {
    for (const v3 of [false, true]) {
      for (const dated of ['false', 'true']) {
        const query = { customer_id: CUSTOMER, with_validity_dates: dated };
        const { attribute_values: values } = (await read(query, v3)).body.result;
        const flat = await readFlat(query, v3);
        expect(flat.body).toEqual({ success: true, result: values });
        expect(flat.text).toContain('9223372036854775807');
      }
    }
    expect((await readFlat({ customer_id: 'nobody' })).body.result).toEqual({});
  });

  test('of a customer without any are none', async () => {
    expect((await read({ customer_id: 'nobody' })).body.result.attribute_values).toEqual({});
    const asDevice = await read({ customer_id: CUSTOMER, customer_type: 'device_id' });
    expect(asDevice.body.result.attribute_values).toEqual({});
  });

  test.each([
    ['customer_id', { customer_id: '' }],
    ['customer_id', { customer_id: 'a\u0000' }],
    ['customer_id', { customer_id: 'x'.repeat(257) }],
    ['customer_type', { customer_id: 'a', customer_type: 'email' }],
    ['sor_id', { customer_id: 'a', sor_id: '' }],
    ['with_validity_dates', { customer_id: 'a', with_validity_dates: 'perhaps' }],
  ])('are refused by the name of the wrong parameter: %s', async (element, query) => {
    const refused = await read(query);
    expect([refused.status, refused.body.messages[0].element]).toEqual([400, element]);
  });

  test("of an unknown SoR, and of another entity's, are a 404", async () => {
    const stranger = await makeWorld(store);
    for (const sor_id of ['sor_unknown', stranger.sor.identifier]) {
      expect((await read({ customer_id: CUSTOMER, sor_id })).body.error_message).toBe('System of record not found');
    }
  });

  test.each([
    ['in the envelope of a customer', read],
    ['as a flat map', readFlat],
  ])('read %s, leave who read them in the audit log, by a hash and not by name', async (how, reading) => {
    const hash = store.secrets.customerHash(world.entity.id, 'user_id', `traced ${how}`);
    await reading({ customer_id: `traced ${how}` });
    const { rows } = await store.db.query(
      'SELECT action, subject_kind, actor_id, subject FROM audit_log WHERE entity_id = $1 AND customer_hash = $2',
      [world.entity.id, hash],
    );
    expect(rows).toEqual([{ action: 'read', subject_kind: 'customer', actor_id: world.user.id, subject: null }]);
  });
});
