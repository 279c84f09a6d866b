import { beforeAll, describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../../domain/time/durations.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { hubspotServer } from '../../harness/syncs/hubspot-server.ts';
import { ask, makeSync, openShop, runSync, type Shop } from '../../harness/syncs/syncs.ts';
import { zendeskServer } from '../../harness/syncs/zendesk-server.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;
let shop: Shop;

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world);
});

type Value = { customer_id: string; key: string; removed: boolean };

const keysOf = async (customer: string) =>
  ((await importedValues(stack, world)) as Value[])
    .filter(({ customer_id: id, removed }) => id === customer && !removed)
    .map(({ key }) => key)
    .toSorted();

/** A table of three buyers, named after it. */
async function buyers(name: string): Promise<string> {
  const table = shop.table(name);
  await shop.db
    .query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, tariff text, score integer, vip boolean);
    ALTER TABLE ${table} OWNER TO ${shop.role};
    INSERT INTO ${table} SELECT n, '${name}-' || n, 'gold', n, true FROM generate_series(1, 3) n`);
  return table;
}

const syncOf = (stream: string, fields: object[], more: object = {}, mapping: object = {}) =>
  makeSync(stack, world, {
    source: { connection: shop.connection, stream },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields, ...mapping },
    ...more,
  });

describe('what has vanished', () => {
  it('loses the values of all its fields, also in the run after these were accepted', async () => {
    const table = await buyers('accepted');
    const sync = await syncOf('accepted', [], { removes: true });
    await runSync(stack, world, sync);
    expect(await keysOf('accepted-1')).toEqual(['score', 'vip']);
    await shop.db.query(`DELETE FROM ${table} WHERE id = 1`);
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/accept_schema`);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1, removal: { state: 'done' } });
    expect(await keysOf('accepted-1')).toEqual([]);
  });

  it('keeps the values of attributes that only others write', async () => {
    const table = await buyers('others');
    await runSync(stack, world, await syncOf('others', [{ from: 'score' }, { from: 'vip' }]));
    const fields = [
      { from: 'vip', drop: true },
      { from: 'score', to: 'plan', as: 'string' },
    ];
    const sync = await syncOf('others', fields, { removes: true }, { other_fields: 'keep' });
    await runSync(stack, world, sync);
    expect(await keysOf('others-1')).toEqual(['plan', 'score', 'vip']);
    await shop.db.query(`DELETE FROM ${table} WHERE id = 1`);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1, removal: { state: 'done' } });
    expect(await keysOf('others-1')).toEqual(['score', 'vip']);
  });
});

describe('what has vanished from a source with keys of its own', () => {
  const DONE = { state: 'done', reason: null };

  /** An account, and a function that makes a sync of its contacts by these two properties. */
  async function account(name: string) {
    const hubspot = await hubspotServer();
    const settings = { access_token: hubspot.key, address: hubspot.url };
    const made = { name, connector: 'hubspot', settings };
    const { identifier } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', made);
    const contact = (properties: Record<string, string | null>, id?: string) =>
      hubspot.put('contacts', properties, id === undefined ? {} : { id });
    return { ...hubspot, identifier, contact };
  }

  const contactsOf = (connection: string, field: string, more: object = {}) =>
    makeSync(stack, world, {
      source: { connection, stream: 'contacts' },
      destination: { sor: world.sor.identifier },
      mapping: { customer: { field }, fields: [{ from: 'firstname', to: 'plan' }] },
      removes: true,
      removal_limit: 100,
      ...more,
    });

  it('is removed though other contacts name no customer, and one that has lost its address keeps its values', async () => {
    const { identifier, contact, erase } = await account('Keyed');
    const [gone, lost] = ['gone@example.com', 'lost@example.com', 'stays@example.com'].map((email) =>
      contact({ email, firstname: 'Ada' }),
    );
    contact({ firstname: 'Nameless' });
    const sync = await contactsOf(identifier, 'email');
    expect(await runSync(stack, world, sync)).toMatchObject({ progress: { written: 3, failed: 1, unidentified: 1 } });

    erase('contacts', gone!);
    contact({ email: null }, lost);
    expect(await runSync(stack, world, sync)).toMatchObject({
      progress: { unchanged: 1, failed: 2, unidentified: 1, unnamed: 0 },
      removed: 1,
      removal: DONE,
    });
    expect([await keysOf('gone@example.com'), await keysOf('lost@example.com')]).toEqual([[], ['plan']]);

    contact({ email: 'lost@example.com' }, lost);
    expect(await runSync(stack, world, sync)).toMatchObject({ progress: { unchanged: 2, failed: 1 }, removed: 0 });
    erase('contacts', lost!);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1, removal: DONE });
    expect([await keysOf('lost@example.com'), await keysOf('stays@example.com')]).toEqual([[], ['plan']]);
  });

  it('is archived in another account, too', async () => {
    const [from, to] = [await account('From'), await account('To')];
    const [gone, lost] = ['gone@example.com', 'lost@example.com'].map((email) => from.contact({ email }));
    const sync = await contactsOf(from.identifier, 'email', {
      destination: { connection: to.identifier, stream: 'contacts', key: ['email'] },
      mapping: { customer: { field: 'email' }, fields: [{ from: 'email' }] },
    });
    await runSync(stack, world, sync);
    from.erase('contacts', gone!);
    from.contact({ email: null }, lost);
    const run = await runSync(stack, world, sync);
    expect(run).toMatchObject({ progress: { failed: 1, unidentified: 0, unnamed: 0 }, removed: 1, removal: DONE });
    const left = [...to.records('contacts').values()].filter(({ archived }) => !archived);
    expect(left.map(({ properties }) => properties['email'])).toEqual(['lost@example.com']);
  });

  it('stays if it may be a contact that names no customer: it was of two contacts, or came without its key', async () => {
    const { identifier, contact, erase } = await account('Shared');
    const [one, other, old, gone] = ['shared', 'shared', 'old', 'gone'].map((city, n) =>
      contact({ city, firstname: `Ada ${n}` }),
    );
    const sync = await contactsOf(identifier, 'city');
    await runSync(stack, world, sync);
    // An earlier version stored no keys of sources.
    await stack.store.db.query(`UPDATE sync_records SET source_key = NULL WHERE key = 'old'`);
    contact({ city: null }, one);
    for (const id of [other, old, gone]) erase('contacts', id!);
    const reason = expect.stringMatching(/^2 stayed, which may be among the failed records/) as string;
    expect(await runSync(stack, world, sync)).toMatchObject({
      progress: { failed: 1, unidentified: 1 },
      removed: 1,
      removal: { state: 'done', reason },
    });
    const left = async () => [await keysOf('shared'), await keysOf('old'), await keysOf('gone')];
    expect(await left()).toEqual([['plan'], ['plan'], []]);
    contact({ city: 'elsewhere' }, one);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 2, removal: DONE });
    expect(await left()).toEqual([[], [], []]);
  });
});

it.for([
  { mode: 'incremental', read: 2 },
  { mode: 'full', read: 4 },
])('users that Zendesk calls inactive lose their values in the next run: $mode', async ({ mode, read }) => {
  let clock = Date.now() - HOUR_MS;
  const server = await zendeskServer({ now: () => clock });
  const put = (id: number, plan: string) => server.put({ id, email: `${mode}-${id}`, user_fields: { plan } });
  for (const id of [1, 2, 3, 4]) put(id, 'gold');
  server.field('plan', 'text');
  clock += HOUR_MS / 2;
  const { url: address, client_id, client_secret } = server;
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: mode,
    connector: 'zendesk',
    settings: { address, client_id, client_secret },
  });
  const sync = await makeSync(stack, world, {
    source: { connection, stream: 'users' },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'user_fields.plan', to: 'plan' }] },
    mode,
    removes: true,
  });
  expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', progress: { read: 4 }, removed: 0 });
  expect(await keysOf(`${mode}-2`)).toEqual(['plan']);
  server.remove(2);
  put(3, 'silver');
  clock += HOUR_MS / 2;
  expect(await runSync(stack, world, sync)).toMatchObject({
    state: 'finished',
    progress: { read },
    removed: 1,
    removal: { state: 'done' },
  });
  expect(await keysOf(`${mode}-2`)).toEqual([]);
  expect(await keysOf(`${mode}-3`)).toEqual(['plan']);
});
