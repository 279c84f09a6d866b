import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import type { KnownBy } from '../../../store/gdpr/personal-data-location.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { insertSampleSegment } from '../../harness/analytics/segments.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { ensureSampleMonths, sampleActivity, sampleApp } from '../../harness/tracking/sdk-samples.ts';

let store: TestStore;
let entityId: number;
let appId: number;

const [ana, ben] = [personId(71), personId(72)];
const user = (customerId: string): Person => ({ customerType: 'user_id', customerId });
const device = (customerId: string): Person => ({ customerType: 'device_id', customerId });

beforeAll(async () => {
  store = await testStore();
  await ensureSampleMonths(store.db);
});

beforeEach(async () => {
  ({
    entity: { id: entityId },
  } = await makeWorld(store));
  appId = await write(store.db, (tx) => sampleApp(tx, entityId));
});

async function used(deviceId: string | null, userId: string | null): Promise<void> {
  await write(store.db, (tx) => sampleActivity(tx, entityId, { appId, deviceId, userId }));
}

/** Erases people everywhere, in the order of the registry, and looks for survivors. */
async function erase(people: Person[]): Promise<void> {
  for (const place of personalData) await place.erase?.(store, entityId, people);
  for (const place of personalData)
    expect([place.name, await place.count(store, entityId, people)]).toEqual([place.name, 0]);
}

/** Whose rows are left, by table: device and user. */
async function left(): Promise<Record<string, string[]>> {
  const whose: Record<string, string[]> = {};
  for (const [table, columns] of [
    ['events', 'device_id, user_id'],
    ['sessions', 'device_id, user_id'],
    ['locations', 'device_id, user_id'],
    ['session_heads', 'subject'],
    ['devices', 'device_id, last_user_id, current_user_id'],
    ['device_users', 'device_id, user_id'],
  ] as const) {
    const { rows } = await store.db.query<{ whose: string }>(
      `SELECT concat_ws(' ', ${columns}) AS whose FROM ${table} WHERE entity_id = $1 ORDER BY 1`,
      [entityId],
    );
    whose[table] = rows.map((row) => row.whose);
  }
  return whose;
}

describe('what a person did on a device', () => {
  it('goes with the device, and what nobody did by name on it, when nobody else uses it', async () => {
    await used('d1', null);
    await used('d1', ana);
    await used('d2', ben);
    await used(null, ana);
    await erase([user(ana), device('d1')]);
    const bens = [`d2 ${ben}`];
    expect(await left()).toEqual({
      events: bens,
      sessions: bens,
      locations: bens,
      session_heads: ['dd2'],
      devices: [`d2 ${ben} ${ben}`],
      device_users: bens,
    });
  });

  it('goes, and what another did on it stays, with the device as it is theirs', async () => {
    await used('d1', null);
    await used('d1', ana);
    await used('d1', ben);
    await erase([user(ana), device('d1')]);
    const bens = [`d1 ${ben}`];
    expect(await left()).toEqual({
      events: bens,
      sessions: bens,
      locations: bens,
      session_heads: ['dd1'],
      devices: [`d1 ${ben} ${ben}`],
      device_users: bens,
    });
  });

  it('takes their name off a device that another used before', async () => {
    await used('d1', ben);
    await used('d1', ana);
    await erase([user(ana), device('d1')]);
    const bens = [`d1 ${ben}`];
    expect(await left()).toEqual({
      events: bens,
      sessions: bens,
      locations: bens,
      session_heads: [],
      devices: ['d1'],
      device_users: bens,
    });
  });

  it('goes without the device, where only the person was asked for', async () => {
    await used('d1', null);
    await used('d1', ana);
    await erase([user(ana)]);
    const nobodys = ['d1'];
    expect(await left()).toEqual({
      events: nobodys,
      sessions: nobodys,
      locations: nobodys,
      session_heads: [],
      devices: nobodys,
      device_users: [],
    });
  });

  it('goes with their place in segments; a device that another uses stays in them', async () => {
    await used('d1', ana);
    await used('d2', ana);
    await used('d2', ben);
    const people = [`u${ana}`, `u${ben}`, 'dd1', 'dd2'];
    const segment = await insertSampleSegment(store.db, entityId, { appId, name: 'Buyers', people });
    const members = async () =>
      (
        await store.db.query<{ person: string }>(
          'SELECT person FROM segment_members WHERE entity_id = $1 ORDER BY person',
          [entityId],
        )
      ).rows.map(({ person }) => person);
    const location = personalData.find(({ name }) => name === 'segment_members')!;
    const shown = await Array.fromAsync(location.export(store, entityId, [user(ana), device('d1'), device('d2')]));
    const inSegment = { app_id: appId, segment: segment.identifier, name: 'Buyers', description: null };
    expect(shown).toEqual([
      { ...inSegment, customer_id: 'd1' },
      { ...inSegment, customer_id: ana },
    ]);
    await erase([user(ana), device('d1'), device('d2')]);
    expect(await members()).toEqual(['dd2', `u${ben}`]);
    await erase([device('d2'), { customerType: 'whole_device', customerId: 'd2' }] as Person[]);
    expect(await members()).toEqual([`u${ben}`]);
  });

  it('goes out of the filters of segments, which are refreshed, and out of those of campaigns', async () => {
    const at = (operator: string, values: string[]) => ({
      filter_on: 'attributes',
      attribute_key: ana,
      operator,
      values,
    });
    const named = { filter_on: 'events', log_name: ana, match_details: [{ to: `for ${ana}`, of: 7, [ana]: 'x' }] };
    const filtersOf = (value: string | null, detail: string) => ({
      operator: 'and',
      blocks: [
        {
          operator: 'or',
          filters: [
            { ...at('is', [ben, ...(value === null ? [] : [value])]), ...(value === null && { values_erased: 1 }) },
            at('in_last_days', ['7']),
            { operator: 'and', filters: [named] },
            { filter_on: 'devices', field: 'last_city', operator: 'is', values: ['Paris'] },
          ].map((filter) => JSON.parse(JSON.stringify(filter).replace(`for ${ana}`, detail)) as object),
        },
      ],
    });
    const people = [user(ana), user('7'), user('Paris'), user('and')];
    await insertSampleSegment(store.db, entityId, { appId, filters: filtersOf(ana, `for ${ana}`) });
    await insertSampleSegment(store.db, entityId, { appId, filters: filtersOf(`${ana}0`, 'x') });
    await insertSampleCampaign(store.db, entityId, appId, { type: 'dynamic', filters: filtersOf(ana, `for ${ana}`) });
    await erase(people);
    const { rows } = await store.db.query(
      'SELECT filters, refresh_wanted_at <= now() AS due FROM segments WHERE entity_id = $1 ORDER BY id',
      [entityId],
    );
    const left = filtersOf(null, `for ${ana}`);
    expect(rows).toEqual([
      { filters: left, due: true },
      { filters: filtersOf(`${ana}0`, 'x'), due: false },
    ]);
    const { rows: campaigns } = await store.db.query('SELECT filters FROM campaigns WHERE entity_id = $1', [entityId]);
    expect(campaigns).toContainEqual({ filters: left });
  });

  it('goes with the token of their device, also where another device has it', async () => {
    await used('d1', ana);
    await used('d2', ben);
    await store.db.query(`UPDATE devices SET push_token = 'token-1' WHERE entity_id = $1`, [entityId]);
    let tallied = 0;
    const devices = personalData.find(({ name }) => name === 'devices')!;
    const tally = async (_tx: unknown, rows: number) => void (tallied += rows);
    const people: KnownBy[] = [user(ana), device('d1'), { customerType: 'push_token', customerId: 'token-1' }];
    expect(await devices.erase!({ ...store, tally }, entityId, people)).toBe(tallied);
    expect(await devices.count(store, entityId, people)).toBe(0);
    const { rows } = await store.db.query('SELECT device_id, push_token FROM devices WHERE entity_id = $1', [entityId]);
    expect(rows).toEqual([{ device_id: 'd2', push_token: null }]);
  });

  it("is another's of the same id in another entity", async () => {
    await used('d1', ana);
    const { entity: another } = await makeWorld(store);
    for (const place of personalData) await place.erase?.(store, another.id, [user(ana), device('d1')]);
    expect((await left())['events']).toEqual([`d1 ${ana}`]);
  });
});

it('a person of many events is shown whole, in pages, and erased whole, in batches', async () => {
  const events = personalData.find(({ name }) => name === 'events')!;
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, name, user_id)
     SELECT $1, $2, '2026-11-05'::timestamptz + make_interval(secs => n / 10), 2, n::text, $3 FROM generate_series(1, 41001) AS n`,
    [entityId, appId, ana],
  );
  await used('d1', ben);
  const shown = (await Array.fromAsync(events.export(store, entityId, [user(ana)]))) as { name: string }[];
  expect(shown.map(({ name }) => Number(name))).toEqual(Array.from({ length: 41_001 }, (_, index) => index + 1));
  expect(await events.count(store, entityId, [user(ana), user(ben)])).toBe(41_002);
  expect(await events.erase!(store, entityId, [user(ana)])).toBe(41_001);
  expect(await events.count(store, entityId, [user(ana), user(ben)])).toBe(1);
});

it("an erased person's name goes out of a crash that they share, which stays", async () => {
  await write(store.db, (tx) =>
    sampleActivity(tx, entityId, { appId, deviceId: 'd1', userId: ana, title: `No cart of ${ana}` }),
  );
  await write(store.db, (tx) =>
    sampleActivity(tx, entityId, { appId, deviceId: 'd2', userId: ben, title: `No cart of ${ana}` }),
  );
  await erase([user(ana), device('d1')]);
  const { rows } = await store.db.query('SELECT title, occurrences FROM crashes WHERE entity_id = $1', [entityId]);
  expect(rows).toEqual([{ title: 'erased', occurrences: 2 }]);
});
