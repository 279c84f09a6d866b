import { beforeAll, describe, expect, it } from 'vitest';
import { redactErased } from '../../../activities/gdpr/redact-erased.ts';
import { isErasedNamed } from '../../../activities/syncs/cursor.ts';
import { fileError } from '../../../domain/imports/import-error.ts';
import { addPendingCustomers } from '../../../store/attributes/customers.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { write } from '../../../store/core/database.ts';
import { asBytes } from '../../../store/core/files.ts';
import { findOrInsertFileJob } from '../../../store/files/file-jobs.ts';
import { collectIdentifiers, listIdentifiers } from '../../../store/gdpr/identifiers.ts';
import { listKeptValues } from '../../../store/analytics/filters-of-people.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import type { KnownBy } from '../../../store/gdpr/personal-data-location.ts';
import { insertGdprRequest } from '../../../store/gdpr/requests.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { insertRefusedCalls } from '../../../store/tracking/call-reports.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import type { World } from '../../harness/core/world.ts';
import { samplePerson, type SamplePerson } from '../../harness/gdpr/sample-person.ts';
import {
  makeTrackedWorld,
  type SampleCall,
  sampleCall,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

/** With an app's key anybody can give a device, its push token or an earlier id the id of somebody else. */

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

const STRANGER = 'a stranger';
const STRANGERS_DEVICE = 'the device of a stranger';

/** Ids of the victim, by their types. */
const IDS: Record<string, (victim: SamplePerson) => string> = {
  user: ({ customerId }) => customerId,
  device: ({ deviceId }) => deviceId,
  token: ({ pushToken }) => pushToken,
  alias: ({ alias }) => alias,
};

/** The calls of the stranger's app, and their device. */
const FORGERIES: Record<string, (id: string) => { deviceId: string; calls: SampleCall[] }> = {
  device: (id) => ({ deviceId: id, calls: [{ deviceId: id }, { deviceId: id, userId: STRANGER }] }),
  user: (id) => ({ deviceId: STRANGERS_DEVICE, calls: [{ deviceId: STRANGERS_DEVICE, userId: id }] }),
  token: (id) => ({
    deviceId: STRANGERS_DEVICE,
    calls: [{ deviceId: STRANGERS_DEVICE, userId: STRANGER, context: { pushToken: id } }],
  }),
  alias: (id) => ({
    deviceId: STRANGERS_DEVICE,
    calls: [{ deviceId: STRANGERS_DEVICE, type: 'alias', event: null, previousId: id, userId: STRANGER }],
  }),
};

/** Who asks: the device itself, or the stranger as a user that a user token or staff vouch for. */
const ASKERS = {
  device: (deviceId: string) => ({ userId: null, deviceId }),
  user: () => ({ userId: STRANGER, deviceId: null }),
};

const table = Object.keys(IDS)
  .flatMap((real) =>
    Object.keys(FORGERIES).flatMap((forged) =>
      (Object.keys(ASKERS) as (keyof typeof ASKERS)[]).map((asker) => ({ real, forged, asker })),
    ),
  )
  // The device with that id, and the user whose token another device has: rows of the same type.
  .filter(({ real, forged }) => !(real === 'device' && forged === 'device'))
  .filter(({ real, forged, asker }) => !(real === 'token' && forged === 'token' && asker === 'user'));

/** The ids that the request has gathered for the stranger. */
async function knownBy(
  { entity, app }: TrackedWorld,
  asker: { userId: string | null; deviceId: string | null },
  type: 'access' | 'delete',
): Promise<KnownBy[]> {
  const { id } = await write(store.db, (tx) =>
    insertGdprRequest(tx, entity.id, {
      type,
      source: asker.userId === null ? 'sdk' : 'api',
      appId: asker.userId === null ? app.id : null,
      requester: { kind: 'device', id: null },
      skipEmail: true,
      emails: [],
      state: 'accepted',
      people: [asker],
    }),
  );
  await collectIdentifiers(store.db, entity.id, id);
  const known = await listIdentifiers(store.db, entity.id, id);
  await store.db.query('DELETE FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entity.id, id]);
  return known;
}

/** Returns how many rows and files each location has of some people, and how many records an archive shows. */
async function look({ entity }: World, people: KnownBy[]): Promise<Record<string, [rows: number, shown: number]>> {
  const found: Record<string, [number, number]> = {};
  for (const { name, count, export: show } of personalData) {
    const own = [
      await count(store, entity.id, people),
      (await Array.fromAsync(show(store, entity.id, people))).length,
    ] as const;
    if (own.some((rows) => rows > 0)) found[name] = [...own];
  }
  return found;
}

/** Returns all rows of the registry's tables, and all files. */
async function listAll({ entity }: World): Promise<Set<string>> {
  const all = new Set<string>();
  for (const { name } of personalData.filter((location) => !location.name.endsWith('/'))) {
    const { rows } = await store.db.query<{ row: string }>(
      `SELECT t::text AS row FROM ${name} AS t WHERE entity_id = $1`,
      [entity.id],
    );
    for (const { row } of rows) all.add(`${name} ${row}`);
  }
  for await (const { key } of store.files.list('')) all.add(`file ${key}`);
  return all;
}

async function forge(world: TrackedWorld, forged: string, id: string): Promise<string> {
  const { deviceId, calls } = FORGERIES[forged]!(id);
  await takeIn(
    store,
    world,
    calls.map((call, index) => sampleCall(world, { index, second: index, ...call })),
  );
  return deviceId;
}

describe('an id of somebody, forged as another', () => {
  it.each(table)(
    'the $real id as a $forged, and the $asker asks: nothing of theirs is shown or goes',
    async ({ real, forged, asker }) => {
      const [world, empty] = [await makeTrackedWorld(store), await makeTrackedWorld(store)];
      const victim = await samplePerson(store, world, 2);
      const id = IDS[real]!(victim);
      await store.db.query('DELETE FROM tombstones WHERE entity_id = $1', [world.entity.id]);
      const before = await listAll(world);
      const asked = ASKERS[asker](await forge(world, forged, id));
      await forge(empty, forged, id);
      const shown = await knownBy(world, asked, 'access');
      // As much as if there were no victim: what the stranger's own calls have brought.
      expect(await look(world, shown)).toEqual(await look(empty, await knownBy(empty, asked, 'access')));
      const people = await knownBy(world, asked, 'delete');
      expect(await listKeptValues(store.db, world.entity.id, people)).toEqual([]);
      for (const { erase } of personalData) await erase?.(store, world.entity.id, people);
      expect(await look(world, people)).toEqual({});
      const left = await listAll(world);
      expect([...before].filter((row) => !left.has(row))).toEqual([]);
    },
  );
});

describe('a device of a person', () => {
  it('goes with what names it as a device: calls, files, and what files were requested by; texts that name it stay', async () => {
    const world = await makeTrackedWorld(store);
    const { entity, app, user } = world;
    const [own, another] = ['zq-5f3a', 'zq-77b1'];
    const refuse = (deviceId: string, index: number) =>
      write(store.db, (tx) =>
        insertRefusedCalls(tx, entity.id, app.id, [
          {
            index,
            messageId: null,
            code: 'invalid',
            message: 'event is required',
            raw: JSON.stringify({ anonymousId: deviceId }),
            people: [{ customerType: 'device_id', customerId: deviceId }],
          },
        ]),
      );
    await refuse(own, 0);
    await refuse(another, 1);
    const keys = await Promise.all(
      [
        [own, ''],
        [another, own],
      ].map(async ([deviceId, detail]) => {
        const filter = { appIds: [app.id], oneOf: { device_id: [deviceId!] } };
        const { identifier } = await write(store.db, (tx) =>
          findOrInsertFileJob(tx, store.secrets, entity.id, {
            kind: 'events',
            format: 'csv',
            email: null,
            createdBy: user.id,
            query: { filter, fields: ['device_id', 'user_id', 'detail'], isGrouped: false },
          }),
        );
        const key = `files/${identifier}/0.csv`;
        await store.files.put(key, asBytes(`device_id,user_id,detail\r\n${deviceId},,${detail}\r\n`));
        await store.db.query(`UPDATE file_jobs SET state = 'finished', file_key = $2 WHERE identifier = $1`, [
          identifier,
          key,
        ]);
        return key;
      }),
    );
    await write(store.db, (tx) =>
      findOrInsertFileJob(tx, store.secrets, entity.id, {
        kind: 'events',
        format: 'csv',
        email: null,
        createdBy: user.id,
        query: {
          filter: { appIds: [app.id], oneOf: { device_id: ['no id: \0'] } },
          fields: ['device_id'],
          isGrouped: false,
        },
      }),
    );
    const people: KnownBy[] = [
      { customerType: 'user_id', customerId: 'zq-somebody' },
      { customerType: 'device_id', customerId: own },
    ];
    expect(await look(world, people)).toEqual({ refused_calls: [1, 1], file_jobs: [1, 1], 'files/': [1, 1] });
    for (const { erase } of personalData) await erase?.(store, entity.id, people);
    expect(await look(world, people)).toEqual({});
    expect(await Promise.all(keys.map((key) => store.files.size(key)))).toEqual([null, expect.any(Number)]);
    const { rows } = await store.db.query(
      'SELECT index, raw IS NULL AS is_empty FROM refused_calls WHERE entity_id = $1 ORDER BY index',
      [entity.id],
    );
    expect(rows).toEqual([
      { index: 0, is_empty: true },
      { index: 1, is_empty: false },
    ]);
  });

  it('that asks for itself has no values but those of apps; what a System of Records says of a device with its id stays', async () => {
    const world = await makeTrackedWorld(store);
    const { entity, sor, attributes } = world;
    const device = { customerType: 'device_id', customerId: 'zq-9c0d' } as const;
    await write(store.db, (tx) =>
      mergeAttributeValues(
        tx,
        store.secrets,
        entity.id,
        sor.id,
        prepareChanges([
          { kind: 'value', line: 1, ...device, attributeId: attributes.plan!.id, valueType: 'String', value: 'gold' },
        ]),
      ),
    );
    await addPendingCustomers(store.db, entity.id);
    const people: KnownBy[] = [device, { ...device, customerType: 'whole_device' }];
    expect(await look(world, people)).toEqual({});
    expect(Object.keys(await look(world, [device]))).toEqual(['attribute_values', 'attribute_change_log', 'customers']);
  });
});

it('the tombstone of a device refuses nothing of a user who is called the same', async () => {
  const world = await makeTrackedWorld(store);
  const { entity } = world;
  const id = 'zq-erased';
  await insertTombstone(store.db, entity.id, store.secrets.customerHash(entity.id, 'device_id', id));
  const calls: SampleCall[] = [
    { deviceId: 'zq-1', userId: id },
    { deviceId: 'zq-1', type: 'alias', event: null, previousId: id, userId: 'zq-2' },
    { deviceId: id },
  ];
  expect(
    await takeIn(
      store,
      world,
      calls.map((call, index) => sampleCall(world, { index, second: index, ...call })),
    ),
  ).toEqual(['accepted', 'accepted', 'erased']);
  const error = { ...fileError('PARSING_FAILED', 'no CSV'), customerId: id };
  const redacted = (type: 'user_id' | 'device_id') =>
    write(store.db, async (tx) =>
      (await redactErased(tx, store, entity.id, [error], () => type)).map(({ customerId }) => customerId),
    );
  expect([await redacted('user_id'), await redacted('device_id')]).toEqual([[id], [null]]);
  const cursor = JSON.stringify({ after: id });
  const isNamed = (type: 'user_id' | 'device_id') =>
    write(store.db, (tx) =>
      isErasedNamed(
        tx,
        store,
        {
          entityId: entity.id,
          mapping: { customer: { field: 'id', type }, fields: [] },
        } as unknown as Parameters<typeof isErasedNamed>[2],
        cursor,
      ),
    );
  expect([await isNamed('user_id'), await isNamed('device_id')]).toEqual([false, true]);
});
