import { beforeAll, describe, expect, test } from 'vitest';
import { makeWorld } from '../../harness/core/world.ts';
import type { CallOptions } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, options: CallOptions = {}) =>
  server.call(method, `/api/system_of_records${path}`, { token: world.token, ...options });
const create = async (name: string, options: CallOptions = {}) =>
  (await call('POST', '', { body: { name }, ...options })).body.result;

describe('a System of Records', () => {
  test('is created as the reference shows it, in both versions', async () => {
    const record = {
      name: 'Shop',
      identifier: expect.stringMatching(/^sor_/),
      type: 'custom',
      api_keys: [expect.any(String)],
      attributes_count: 0,
      disabled: false,
      customer_attributes: [],
    };
    expect(await create('Shop', { v3: true })).toEqual(record);
    const updated_date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await create('Shop')).toEqual({ ...record, updated_date });
  });

  test('is viewed with its attributes, in both versions', async () => {
    const { plan } = world.attributes;
    const marks = { disabled: false, is_identifier: false, sensitive: false };
    const shown = { identifier: plan!.identifier, key: 'plan', label: 'plan', value_type: 'String', ...marks };
    const v3 = (await call('GET', `/${world.sor.identifier}`, { v3: true })).body.result;
    expect(v3).toMatchObject({ api_keys: [world.apiKey], attributes_count: 6 });
    expect(v3.customer_attributes[0]).toEqual(shown);
    const v2 = (await call('GET', `/${world.sor.identifier}`)).body.result;
    expect(v2.customer_attributes[0]).toEqual({ ...shown, sources: [] });
  });

  test('is renamed, disabled, enabled and deleted; a repeat is an error that says which', async () => {
    const { identifier } = await create('Draft');
    expect((await call('PUT', `/${identifier}`, { body: { name: 'Final' } })).body.result.name).toBe('Final');
    expect((await call('PUT', `/${identifier}/disable`)).body).toEqual({ success: true });
    expect((await call('GET', `/${identifier}`)).body.result.disabled).toBe(true);
    const again = await call('PUT', `/${identifier}/disable`);
    expect([again.status, again.body.status, again.body.error_message]).toEqual([
      400,
      'bad_request',
      'System of record is already disabled',
    ]);
    expect((await call('PUT', `/${identifier}/enable`)).body).toEqual({ success: true });
    expect((await call('PUT', `/${identifier}/enable`)).body.error_message).toBe('System of record is already enabled');
    for (const change of ['disable', 'enable']) {
      expect((await call('PUT', `/${identifier}/${change}`, { v3: true })).body).toEqual({ success: true });
      expect((await call('GET', `/${identifier}`, { v3: true })).body.result.disabled).toBe(change === 'disable');
    }
    expect((await call('DELETE', `/${identifier}`)).body).toEqual({ success: true });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PUT', '/enable'],
    ] as const) {
      const gone = await call(method, `/${identifier}${path}`);
      expect([gone.status, gone.body.status]).toEqual([404, 'not_found']);
      expect(gone.body.error_message).toBe('System of record not found');
    }
  });

  test('disabled by two at once is disabled once', async () => {
    const { identifier } = await create('Race');
    const replies = await Promise.all([1, 2, 3].map(() => call('PUT', `/${identifier}/disable`)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 400)).toHaveLength(2);
  });

  test.each([[{}], [{ name: '' }], [{ name: '   ' }], [{ name: 7 }], [{ name: 'x'.repeat(257) }]])(
    'needs a name: %j',
    async (body) => {
      const refused = await call('POST', '', { body });
      expect([refused.status, refused.body.messages[0].element]).toEqual([400, 'name']);
    },
  );

  test('of another entity is unknown', async () => {
    const stranger = await makeWorld(store);
    expect((await call('GET', `/${stranger.sor.identifier}`)).status).toBe(404);
    expect((await call('DELETE', `/${stranger.sor.identifier}`)).status).toBe(404);
  });

  test('leaves a trace of every change and of each view of its keys in the audit log', async () => {
    const { identifier } = await create('Traced');
    await call('PUT', `/${identifier}`, { body: { name: 'Traced too' } });
    await call('GET', `/${identifier}`);
    const shown = (await call('GET', `/${identifier}?secrets=false`)).body.result;
    expect(shown).toMatchObject({ name: 'Traced too', customer_attributes: [] });
    expect(shown).not.toHaveProperty('api_keys');
    await call('PUT', `/${identifier}/disable`);
    await call('DELETE', `/${identifier}`);
    const { rows } = await store.db.query<{ action: string }>(
      'SELECT action FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id',
      [world.entity.id, identifier],
    );
    expect(rows.map(({ action }) => action)).toEqual(['create', 'update', 'read', 'read', 'update', 'delete']);
  });
});

describe('the list', () => {
  const types = async (query: string, v3 = false) => {
    const { body } = await call('GET', query, { v3 });
    return [...new Set((body.result as { type: string }[]).map(({ type }) => type))].toSorted();
  };

  test.each([
    ['', ['custom', 'global']],
    ['?type=custom', ['custom']],
    ['?type=global', ['global']],
    ['?type=app', []],
    ['?type=nonsense', []],
    ['?type=', []],
    ['?type=app,global', ['global']],
    ['?type[]=custom&type[]=global', ['custom', 'global']],
  ])('with %j holds what the type says', async (query, expected) => {
    expect(await types(query)).toEqual(expected);
  });

  test('never holds the global one under v3', async () => {
    expect(await types('', true)).toEqual(['custom']);
    expect(await types('?type=global', true)).toEqual([]);
  });
});

describe('the global System of Records', () => {
  let global: { identifier: string; customer_attributes: { key: string; sources: string[] }[] };
  beforeAll(async () => {
    global = (await call('GET', '?type=global')).body.result[0];
  });

  test('has the attributes that everyone has', async () => {
    expect(global.customer_attributes.map(({ key }) => key)).toEqual([
      'first_name',
      'last_name',
      'email',
      'date_of_birth',
      'gender',
      'country',
      'city',
      'region',
      'profile_picture_url',
    ]);
    expect(global.customer_attributes[0]!.sources).toEqual(['DEFAULT']);
  });

  test('cannot be renamed, deleted or disabled, and v3 does not know it', async () => {
    const tries = (v3: boolean) =>
      Promise.all([
        call('PUT', `/${global.identifier}`, { body: { name: 'Mine' }, v3 }),
        call('DELETE', `/${global.identifier}`, { v3 }),
        call('PUT', `/${global.identifier}/disable`, { v3 }),
      ]);
    expect((await tries(false)).map(({ body }) => body.status)).toEqual(['bad_request', 'bad_request', 'bad_request']);
    expect((await tries(true)).map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await call('GET', `/${global.identifier}`)).body.result).toEqual(global);
    expect((await call('GET', `/${global.identifier}`, { v3: true })).status).toBe(404);
  });
});
