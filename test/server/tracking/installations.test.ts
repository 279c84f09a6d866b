import { beforeAll, describe, expect, test } from 'vitest';
import { insertCustomerAttribute, listCustomerAttributesOf } from '../../../store/attributes/customer-attributes.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { findSor, insertAppSor, listSors, type SystemOfRecord } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ensureSampleMonths, sampleActivity } from '../../harness/tracking/sdk-samples.ts';
import { useServer } from '../http/use-server.ts';

const [ANNE, BEN] = [personId(501), personId(502)];
const [PHONE, TABLET, UNNAMED] = ['phone-501', 'tablet-501', 'nobody-named'];

const { store, server, world } = useServer();
let app: { identifier: string; sor: SystemOfRecord };
let other: { identifier: string; sor: SystemOfRecord };
let global: SystemOfRecord;

/** An app with its SDK System of Records, which has one attribute. */
async function makeApp(
  whose: World,
  packageName: string,
): Promise<{ id: number; identifier: string; sor: SystemOfRecord }> {
  return write(store.db, async (tx) => {
    const { id, identifier } = await insertSampleApp(tx, whose.entity.id, packageName);
    return { id, identifier, sor: await insertAppSor(tx, whose.entity.id, id) };
  });
}

async function give(
  sor: SystemOfRecord,
  customerType: 'user_id' | 'device_id',
  customerId: string,
  value: string,
): Promise<void> {
  await write(
    store.db,
    async (tx) => {
      await insertCustomerAttribute(tx, world.entity.id, sor.id, { key: 'said', label: 'Said', valueType: 'String' });
      const said = (await listCustomerAttributesOf(tx, world.entity.id, [sor.id])).find(({ key }) => key === 'said')!;
      await mergeAttributeValues(
        tx,
        store.secrets,
        world.entity.id,
        sor.id,
        prepareChanges([
          { kind: 'value', line: 1, attributeId: said.id, customerType, customerId, valueType: 'String', value },
        ]),
      );
    },
    { collide: true },
  );
}

const profileOf = async (customerId: string) =>
  (await server.call('GET', `/api/customer_profiles/${encodeURIComponent(customerId)}`, { token: world.token })).body
    .result[0];

const valuesOf = async (sor: string, type: string, id: string, path = '/api/attribute_values') => {
  const query = new URLSearchParams({ sor_id: sor, customer_type: type, customer_id: id });
  return (await server.call('GET', `${path}?${query.toString()}`, { token: world.token })).body.result;
};

beforeAll(async () => {
  await ensureSampleMonths(store.db);
  const { id: entityId } = world.entity;
  const [first, second] = [await makeApp(world, 'com.example.first'), await makeApp(world, 'com.example.second')];
  [app, other] = [first, second];
  global = (await findSor(store.db, entityId, (await listSors(store.db, entityId, ['global']))[0]!.identifier))!;
  await sampleActivity(store.db, entityId, { appId: first.id, deviceId: TABLET, userId: ANNE });
  await sampleActivity(store.db, entityId, { appId: first.id, deviceId: PHONE, userId: BEN });
  await sampleActivity(store.db, entityId, { appId: first.id, deviceId: PHONE, userId: ANNE });
  await sampleActivity(store.db, entityId, {
    appId: second.id,
    deviceId: PHONE,
    userId: BEN,
    at: new Date('2026-11-06T10:00:00Z'),
  });
  await sampleActivity(store.db, entityId, { appId: first.id, deviceId: UNNAMED, userId: null });
  for (const [sor, type, id, value] of [
    [first.sor, 'user_id', ANNE, 'of Anne'],
    [first.sor, 'user_id', BEN, 'of Ben'],
    [first.sor, 'device_id', UNNAMED, 'of nobody'],
    [second.sor, 'user_id', BEN, 'of Ben elsewhere'],
    [global, 'user_id', BEN, 'of Ben everywhere'],
    [world.sor, 'device_id', PHONE, 'of the phone'],
  ] as const)
    await give(sor, type, id, value);
});

describe('the profile of a customer', () => {
  test('tells in which apps they were seen, with the System of Records of each and the devices', async () => {
    const first = (...devices: string[]) => ({
      app_id: app.identifier,
      sor_id: app.sor.identifier,
      installations: devices.map((id) => ({ device_id: id })),
    });
    const second = (...devices: string[]) => ({
      ...first(...devices),
      app_id: other.identifier,
      sor_id: other.sor.identifier,
    });
    expect((await profileOf(ANNE)).applications).toEqual([first(PHONE, TABLET)]);
    expect((await profileOf(BEN)).applications).toEqual([first(PHONE), second(PHONE)]);
    expect((await profileOf(UNNAMED)).applications).toEqual([first(UNNAMED)]);
    expect((await profileOf(PHONE)).applications).toEqual([first(PHONE), second(PHONE)]);
  });

  test('tells so in the lists, too', async () => {
    for (const path of ['/api/customer_profiles', '/api/customer_profiles?updated_since=2020-01-01T00:00:00Z']) {
      const { profiles } = (await server.call('GET', path, { token: world.token })).body.result;
      const anne = profiles.find(({ customer_id: id }: { customer_id: string }) => id === ANNE);
      expect(anne.applications).toMatchObject([
        { app_id: app.identifier, installations: [{ device_id: PHONE }, { device_id: TABLET }] },
      ]);
    }
  });

  test("tells nothing of another entity's apps", async () => {
    const stranger = await makeWorld(store);
    const { id } = await makeApp(stranger, 'com.example.first');
    await sampleActivity(store.db, stranger.entity.id, { appId: id, deviceId: 'elsewhere', userId: ANNE });
    expect((await profileOf(ANNE)).applications).toMatchObject([{ app_id: app.identifier }]);
  });
});

describe('the values of a device', () => {
  test('are those of who used it last, in the System of Records of an app', async () => {
    expect(await valuesOf(app.sor.identifier, 'device_id', PHONE)).toEqual({
      customer_id: PHONE,
      customer_id_type: 'device_id',
      attribute_values: { said: 'of Anne' },
    });
    expect(await valuesOf(app.sor.identifier, 'device_id', PHONE, '/api/customer_attribute_values')).toEqual({
      said: 'of Anne',
    });
    expect((await valuesOf(other.sor.identifier, 'device_id', PHONE)).attribute_values).toEqual({
      said: 'of Ben elsewhere',
    });
  });

  test('are those of who used it last in any app, in the global one', async () => {
    expect((await valuesOf(global.identifier, 'device_id', PHONE)).attribute_values).toMatchObject({
      said: 'of Ben everywhere',
    });
  });

  test('are its own where nobody was named, and in a custom System of Records', async () => {
    expect((await valuesOf(app.sor.identifier, 'device_id', UNNAMED)).attribute_values).toEqual({ said: 'of nobody' });
    expect((await valuesOf(world.sor.identifier, 'device_id', PHONE)).attribute_values).toEqual({
      said: 'of the phone',
    });
  });
});
