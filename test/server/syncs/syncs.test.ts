import { describe, expect, test } from 'vitest';
import { insertServiceToken } from '../../../store/accounts/service-tokens.ts';
import { write } from '../../../store/core/database.ts';
import { upsertRecords } from '../../../store/syncs/sync-records.ts';
import { updateKnownFields, updateSyncCursor } from '../../../store/syncs/syncs.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { webForm } from '../http/test-server.ts';
import { mapping, resultOf, useSyncs } from './use-syncs.ts';

const {
  store,
  server,
  world,
  connections,
  ask,
  definition,
  create,
  createdId,
  view,
  put,
  post,
  toWebhook,
  stored,
  audited,
} = useSyncs();

/** Notes down that a sync wrote a record. */
async function writeRecord(id: string, key: string): Promise<void> {
  const sync = await stored(id);
  const noted = { key, customerId: null, checksum: '00'.repeat(16) };
  await write(store.db, (tx) =>
    upsertRecords(tx, world.entity.id, { syncId: sync.id, runId: 1, isSeen: false }, [noted]),
  );
}

describe('a sync', () => {
  test('is made of a name, a source, a destination and a customer; all else has a default', async () => {
    const { body } = await create({ name: 'Customers of the shop' });
    expect(body.result).toMatchObject({
      identifier: expect.stringMatching(/^syn_/),
      name: 'Customers of the shop',
      source: { connection: connections.postgres, stream: 'customers', name: 'The postgres' },
      destination: { sor: world.sor.identifier, name: world.sor.name },
      mapping: { customer: { field: 'email', type: 'user_id' }, fields: [], other_fields: 'keep', empty: 'fail' },
      mode: 'full',
      cursor_field: null,
      removes: false,
      removal_limit: 50,
      schedule: null,
      on_schema_change: 'ignore',
      alerts: { emails: [world.user.email], failed_records: null, pause_after: 5 },
      revision: 1,
      state: 'active',
      failures: 0,
      next_runs: [],
      fields: null,
      last_run: null,
      created_by: { id: world.user.id, uid: world.user.uid },
    });
    expect(await view(body.result.identifier)).toEqual(body.result);
    const list = await ask('', { method: 'GET' });
    expect(list.body.result.items).toContainEqual(body.result);
    expect(await audited(body.result.identifier)).toEqual([['create', 'sync', {}]]);
  });

  test('takes every member that it shows, as it shows it', async () => {
    const whole = {
      source: { connection: connections.postgres, stream: 'orders' },
      destination: toWebhook({ key: ['shop', 'id'] }),
      mapping: {
        customer: { field: 'mail', type: 'device_id' },
        other_fields: 'keep',
        empty: 'remove',
        fields: [
          { from: 'born', to: 'birthday', as: 'date', format: 'dd/MM/yyyy' },
          { from: 'sum', as: 'number', decimal: ',' },
          { from: 'vip', as: 'boolean', true: ['oui'], false: ['non'] },
          { from: 'tags', as: 'set', separator: '|' },
          { to: 'origin', value: 'shop' },
          { to: 'old', value: null },
          { from: 'notes', drop: true },
        ],
      },
      mode: 'incremental',
      cursor_field: 'updated_at',
      removes: false,
      removal_limit: 0,
      on_schema_change: 'follow',
      schedule: { cron: '0 3 * * *', zone: 'Europe/Paris', jitter_seconds: 60 },
      alerts: { emails: ['data@example.com'], failed_records: 1, pause_after: null },
    };
    const shown = resultOf(await create(whole));
    expect(shown).toMatchObject(whole);
    expect(shown.next_runs).toHaveLength(3);
    const again = resultOf(await put(shown.identifier, shown));
    expect(again).toEqual({ ...shown, revision: 2, updated_at: expect.any(String) });
  });

  test('drops other fields where some are named, and keeps them where told', async () => {
    expect(resultOf(await create({ mapping: mapping({ from: 'plan' }) })).mapping.other_fields).toBe('drop');
    expect(
      resultOf(await create({ mapping: { ...mapping({ from: 'plan' }), other_fields: 'keep' } })).mapping.other_fields,
    ).toBe('keep');
  });

  test('made by a service token tells nobody unless told to', async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const { token } = await insertServiceToken(store.db, world.entity.id, {
      name: 'Deploy',
      rights: ['sor_manage'],
      createdBy: world.user.id,
      expiresAt,
    });
    rememberSecret(token);
    expect(resultOf(await ask('', { method: 'POST', token, body: definition() }))).toMatchObject({
      alerts: { emails: [] },
    });
  });

  test('can be made by a web form, with objects as JSON', async () => {
    const { name, ...objects } = definition({ mapping: mapping({ from: 'plan' }), schedule: { every_minutes: 15 } });
    const parts = Object.entries(objects).map(([member, value]): [string, string] => [member, JSON.stringify(value)]);
    const form = webForm([['name', name], ...parts, ['removes', 'true'], ['removal_limit', '10']]);
    const reply = await server.call('POST', '/api/syncs', { token: world.token, ...form });
    expect(resultOf(reply)).toMatchObject({
      name,
      removes: true,
      removal_limit: 10,
      schedule: { every_minutes: 15, jitter_seconds: 0 },
    });
  });

  test('comes in pages with the others, and is not there for another entity', async () => {
    const [one, other] = [await createdId(), await createdId()];
    const all: string[] = [];
    for (let page = 1, pages = 1; page <= pages; page += 1) {
      const { items, total_pages: total } = resultOf(await ask(`?page=${page}&per_page=2`, { method: 'GET' }));
      all.push(...items.map(({ identifier }: { identifier: string }) => identifier));
      pages = total;
    }
    expect(all.slice(-2)).toEqual([one, other]);
    expect(new Set(all).size).toBe(all.length);
    const { token } = await makeWorld(store);
    expect(resultOf(await ask('', { method: 'GET', token })).items).toEqual([]);
    expect((await ask(`/${one}`, { method: 'GET', token })).body.error_message).toBe('Sync not found');
  });

  test('needs the right sor_manage', async () => {
    const { token } = await makeWorld(store, { rights: [], admin: false });
    const reply = await ask('', { method: 'GET', token });
    expect([reply.status, reply.body.error_message]).toEqual([403, expect.stringContaining('sor_manage')]);
  });

  test('is gone once it is deleted, and its name is free again', async () => {
    const { name } = definition();
    const id = await createdId({ name });
    expect((await ask(`/${id}`, { method: 'DELETE' })).body).toEqual({ success: true });
    expect((await ask(`/${id}`, { method: 'DELETE' })).status).toBe(404);
    expect((await ask(`/${id}/runs`, { method: 'GET' })).status).toBe(404);
    expect((await create({ name })).status).toBe(200);
    expect(await audited(id)).toEqual([
      ['create', 'sync', {}],
      ['delete', 'sync', {}],
    ]);
  });

  test('keeps its connections from being deleted', async () => {
    const { name } = definition();
    await createdId({ name, destination: toWebhook() });
    const reply = await server.call('DELETE', `/api/connections/${connections.webhook}`, { token: world.token });
    expect([reply.status, reply.body.error_message]).toEqual([409, expect.stringContaining(name)]);
  });
});

describe('validate', () => {
  test('tells that a sync could be made, and makes none', async () => {
    const before = resultOf(await ask('', { method: 'GET' })).total_items;
    const { result } = (await post('/validate', definition())).body;
    expect(result).toMatchObject({ valid: true, definition: { mode: 'full', removal_limit: 50 } });
    expect(resultOf(await ask('', { method: 'GET' })).total_items).toBe(before);
    expect((await post('/validate', definition({ sync_id: 'syn_unknown' }))).body.error_message).toBe('Sync not found');
  });

  test("tells that one whose records are known can't go elsewhere", async () => {
    const sync_id = await createdId();
    await writeRecord(sync_id, personId(1));
    const reply = await post(
      '/validate',
      definition({ sync_id, source: { connection: connections.postgres, stream: 'others' } }),
    );
    expect([reply.status, reply.body.status]).toEqual([409, 'conflict']);
  });
});

describe('a change', () => {
  test('leaves what it leaves out, and replaces mapping and schedule as they are given', async () => {
    const id = await createdId({
      mapping: { ...mapping({ from: 'plan' }), empty: 'remove' },
      removes: true,
      schedule: { cron: '@daily', zone: 'Europe/Paris', jitter_seconds: 5 },
      alerts: { emails: [], failed_records: 7, pause_after: 2 },
    });
    const before = await view(id);
    const renamed = resultOf(await put(id, { name: 'Renamed' }));
    expect(renamed).toEqual({ ...before, name: 'Renamed', revision: 2, updated_at: expect.any(String) });
    const changed = resultOf(
      await put(id, { mapping: mapping(), schedule: { cron: '@weekly' }, alerts: { pause_after: null } }),
    );
    expect(changed).toMatchObject({
      name: 'Renamed',
      removes: true,
      mapping: { fields: [], other_fields: 'keep', empty: 'fail' },
      schedule: { cron: '@weekly', zone: 'UTC', jitter_seconds: 0 },
      alerts: { emails: [], failed_records: 7, pause_after: null },
    });
    expect(resultOf(await put(id, { schedule: null }))).toMatchObject({ schedule: null, next_runs: [] });
    expect((await audited(id)).slice(1)).toEqual([
      ['update', 'sync', { members: 'name' }],
      ['update', 'sync', { members: 'mapping schedule alerts' }],
      ['update', 'sync', { members: 'schedule' }],
    ]);
  });

  test('goes elsewhere until a record was written, and then no more', async () => {
    const id = await createdId();
    const elsewhere = [
      { source: { connection: connections.postgres, stream: 'people' } },
      { source: { connection: connections['http-file'], stream: 'people' } },
      { mapping: { customer: { field: 'mail' } } },
      { mapping: { customer: { field: 'mail', type: 'device_id' } } },
      { destination: toWebhook() },
    ];
    for (const body of elsewhere) expect((await put(id, body)).status).toBe(200);
    await writeRecord(id, '["1"]');
    const back = [
      { source: { connection: connections.postgres, stream: 'people' } },
      { source: { connection: connections['http-file'], stream: 'others' } },
      { destination: { sor: world.sor.identifier } },
      { destination: toWebhook({ key: ['other'] }) },
      { destination: toWebhook({ stream: 'others' }) },
      { mapping: { customer: { field: 'mail' } } },
      { mapping: {} },
    ];
    for (const body of back) {
      const refused = await put(id, body);
      expect([refused.status, refused.body.error_message]).toEqual([409, expect.stringContaining('make another sync')]);
    }
    const whole = await view(id);
    expect(
      (
        await put(id, {
          ...whole,
          mapping: { ...whole.mapping, other_fields: 'drop', fields: [{ from: 'id' }, { from: 'plan' }] },
        })
      ).status,
    ).toBe(200);
  });

  test('of mode, cursor field or stream begins at the beginning; any other goes on where it was', async () => {
    const id = await createdId({ mode: 'incremental', cursor_field: 'updated_at' });
    const fields = [{ name: 'email', type: 'string' }];
    const cursorAfter = async (body: object) => {
      await updateSyncCursor(store.db, await stored(id), '{"at":1}');
      await updateKnownFields(store.db, world.entity.id, (await stored(id)).id, fields);
      resultOf(await put(id, body));
      const { cursor, knownFields } = await stored(id);
      return [cursor, knownFields === null ? 'unknown' : 'known'];
    };
    const elsewhere = { name: definition().name, schedule: { every_minutes: 5 }, mapping: mapping({ from: 'plan' }) };
    expect(await cursorAfter(elsewhere)).toEqual(['{"at":1}', 'known']);
    expect(await cursorAfter({ cursor_field: 'updated_at', mode: 'incremental' })).toEqual(['{"at":1}', 'known']);
    expect(await cursorAfter({ cursor_field: 'id' })).toEqual([null, 'known']);
    expect(await cursorAfter({ source: { connection: connections.postgres, stream: 'others' } })).toEqual([
      null,
      'unknown',
    ]);
    expect(await cursorAfter({ mode: 'full' })).toEqual([null, 'known']);
    expect(await view(id)).toMatchObject({ mode: 'full', cursor_field: null });
  });
});
