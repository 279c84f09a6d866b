import { beforeAll, describe, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { collectIdentifiers, listIdentifiers } from '../../../store/gdpr/identifiers.ts';
import { listKeptValues } from '../../../store/gdpr/personal-data/kept-values.ts';
import { personalData } from '../../../store/gdpr/personal-data.ts';
import type { KnownBy } from '../../../store/gdpr/personal-data-location.ts';
import { insertGdprRequest } from '../../../store/gdpr/requests.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import type { World } from '../../harness/core/world.ts';
import { samplePerson, type SamplePerson } from '../../harness/gdpr/sample-person.ts';
import { makeTrackedWorld, type SampleCall, sampleCall, takeIn, type TrackedWorld } from '../../harness/tracking/tracked-calls.ts';

/** With an app's key anybody can give a device, its push token or an earlier id the id of somebody else. */

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

const STRANGER = 'a stranger';
const STRANGERS_DEVICE = 'the device of a stranger';

/** Ids of the victim, by their types. */
const IDS: Record<string, (victim: SamplePerson) => string> = {
  user: ({ customerId }) => customerId, device: ({ deviceId }) => deviceId, token: ({ pushToken }) => pushToken,
  alias: ({ alias }) => alias,
};

/** What the stranger's app says, and from which device. */
const FORGERIES: Record<string, (id: string) => { deviceId: string; calls: SampleCall[] }> = {
  device: (id) => ({ deviceId: id, calls: [{ deviceId: id }, { deviceId: id, userId: STRANGER }] }),
  user: (id) => ({ deviceId: STRANGERS_DEVICE, calls: [{ deviceId: STRANGERS_DEVICE, userId: id }] }),
  token: (id) => ({ deviceId: STRANGERS_DEVICE, calls: [{ deviceId: STRANGERS_DEVICE, userId: STRANGER, context: { pushToken: id } }] }),
  alias: (id) => ({
    deviceId: STRANGERS_DEVICE, calls: [{ deviceId: STRANGERS_DEVICE, type: 'alias', event: null, previousId: id, userId: STRANGER }],
  }),
};

/** Who asks: the device itself; the stranger, as a user for whom a user token or staff vouch. */
const ASKERS = { device: (deviceId: string) => ({ userId: null, deviceId }), user: () => ({ userId: STRANGER, deviceId: null }) };

const table = Object.keys(IDS).flatMap((real) => Object.keys(FORGERIES).flatMap((forged) =>
  (Object.keys(ASKERS) as (keyof typeof ASKERS)[]).map((asker) => ({ real, forged, asker }))))
  // The device with that id, and the user whose token another device has: rows of the same type.
  .filter(({ real, forged }) => !(real === 'device' && forged === 'device'))
  .filter(({ real, forged, asker }) => !(real === 'token' && forged === 'token' && asker === 'user'));

/** What the stranger is known by, once the request has gathered it. */
async function knownBy(
  { entity, app }: TrackedWorld, asker: { userId: string | null; deviceId: string | null }, type: 'access' | 'delete',
): Promise<KnownBy[]> {
  const { id } = await write(store.db, (tx) => insertGdprRequest(tx, entity.id, {
    type, source: asker.userId === null ? 'sdk' : 'api', appId: asker.userId === null ? app.id : null,
    requester: { kind: 'device', id: null }, skipEmail: true, emails: [], state: 'accepted', people: [asker],
  }));
  await collectIdentifiers(store.db, entity.id, id);
  const known = await listIdentifiers(store.db, entity.id, id);
  await store.db.query('DELETE FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entity.id, id]);
  return known;
}

/** Returns how many rows and files each location has of some people, and how many records an archive shows. */
async function look({ entity }: World, people: KnownBy[]): Promise<Record<string, [rows: number, shown: number]>> {
  const found: Record<string, [number, number]> = {};
  for (const { name, count, export: show } of personalData) {
    const own = [await count(store, entity.id, people), (await Array.fromAsync(show(store, entity.id, people))).length] as const;
    if (own.some((rows) => rows > 0)) found[name] = [...own];
  }
  return found;
}

/** Returns all rows of the registry's tables, and all files. */
async function listAll({ entity }: World): Promise<Set<string>> {
  const all = new Set<string>();
  for (const { name } of personalData.filter((location) => !location.name.endsWith('/'))) {
    const { rows } = await store.db.query<{ row: string }>(`SELECT t::text AS row FROM ${name} AS t WHERE entity_id = $1`, [entity.id]);
    for (const { row } of rows) all.add(`${name} ${row}`);
  }
  for await (const { key } of store.files.list('')) all.add(`file ${key}`);
  return all;
}

async function forge(world: TrackedWorld, forged: string, id: string): Promise<string> {
  const { deviceId, calls } = FORGERIES[forged]!(id);
  await takeIn(store, world, calls.map((call, index) => sampleCall(world, { index, second: index, ...call })));
  return deviceId;
}

describe('an id of somebody, forged as another', () => {
  it.each(table)('the $real id as a $forged, and the $asker asks: nothing of theirs is shown or goes', async ({ real, forged, asker }) => {
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
  });
});
