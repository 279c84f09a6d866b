import { beforeAll, describe, expect, test } from 'vitest';
import { findTrackingTarget } from '../../../store/tracking/tracking-target.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

type Method = 'GET' | 'POST' | 'PUT';
type Key = { identifier: string; api_key: string; revoked: boolean };
let app: string;
let apps = 0;
let keys = 0;

const makeApp = async (own: World = world, app_type = 'iOS App') =>
  (
    await server.call('POST', '/api/apps', {
      token: own.token,
      body: {
        name: 'Shop',
        package_name: `com.example.app${(apps += 1)}`,
        app_type,
        session_timeout: 60,
        default_tz: 'Asia/Tokyo',
      },
    })
  ).body.result as { identifier: string; sor_id: string; package_name: string };
const call = (method: Method, path = '', body?: object, { of = app, own = world } = {}) =>
  server.call(method, `/api/apps/${of}/api_keys${path}`, { token: own.token, ...(body ? { body } : {}) });
const create = async (body: object = {}, options: { of?: string; own?: World } = {}) => {
  const { result } = (await call('POST', '', body, options)).body;
  rememberSecret(result.api_key);
  return result as Key;
};
const newKey = () => `Key-of-app-${(keys += 1)}-${world.entity.id}`;
const found = async (key: string) =>
  ((await findTrackingTarget(store.db, store.secrets, key))?.apps ?? []).map(({ identifier }) => identifier);
const refusal = ({ status, body }: { status: number; body: { status: unknown; messages?: { element: string }[] } }) => [
  status,
  body.status,
  body.messages?.map(({ element }) => element),
];
const TAKEN = [400, 'bad_request', ['api_key']];

beforeAll(async () => {
  ({ identifier: app } = await makeApp());
});

describe('an API key', () => {
  test('is random unless it is given, and shown as the reference has it', async () => {
    const epoch = expect.closeTo(Date.now() / 1_000, -2) as number;
    const random = await create();
    expect(random).toEqual({
      identifier: expect.stringMatching(/^key_/),
      api_key: expect.stringMatching(/^[0-9A-Za-z]{40}$/),
      revoked: false,
      updated_at: epoch,
      created_at: epoch,
    });
    const api_key = newKey();
    const given = await create({ api_key, revoked: true });
    expect(given).toMatchObject({ api_key, revoked: true });
    expect((await call('GET')).body.result.api_keys).toEqual([random, given]);
    expect((await call('GET', `/${given.identifier}`)).body.result).toEqual(given);
  });

  test('is changed, revoked and restored', async () => {
    const { identifier, api_key } = await create();
    expect(await found(api_key)).toEqual([app]);
    expect((await call('PUT', `/${identifier}`, { revoked: true })).body.result).toMatchObject({
      identifier,
      api_key,
      revoked: true,
    });
    expect(await found(api_key)).toEqual([]);
    expect((await call('PUT', `/${identifier}`, { revoked: false })).body.result).toMatchObject({
      api_key,
      revoked: false,
    });
    expect(await found(api_key)).toEqual([app]);
    const next = newKey();
    rememberSecret(next);
    expect((await call('PUT', `/${identifier}`, { api_key: next })).body.result).toMatchObject({
      api_key: next,
      revoked: false,
    });
    expect([await found(api_key), await found(next)]).toEqual([[], [app]]);
    expect((await call('PUT', `/${identifier}`, { api_key: next })).status).toBe(200);
  });

  test('may stand on several apps of the entity, each of which revokes its own', async () => {
    const second = await makeApp(world, 'Android App');
    const key = await create();
    const same = await create({ api_key: key.api_key }, { of: second.identifier });
    expect(await found(key.api_key)).toEqual([app, second.identifier]);
    await call('PUT', `/${same.identifier}`, { revoked: true }, { of: second.identifier });
    expect(await found(key.api_key)).toEqual([app]);
  });

  test('stands on an app once', async () => {
    const [one, two] = [await create(), await create()];
    expect(refusal(await call('POST', '', { api_key: one.api_key }))).toEqual(TAKEN);
    expect(refusal(await call('PUT', `/${two.identifier}`, { api_key: one.api_key }))).toEqual(TAKEN);
    const api_key = newKey();
    rememberSecret(api_key);
    const replies = await Promise.all([1, 2, 3].map(() => call('POST', '', { api_key })));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
  });

  test("of one entity, or of a System of Records, is no other entity's, not even once it was changed", async () => {
    const stranger = await makeWorld(store);
    const options = { of: (await makeApp(stranger)).identifier, own: stranger };
    const { identifier, api_key } = await create();
    expect(refusal(await call('POST', '', { api_key }, options))).toEqual(TAKEN);
    const own = await create({}, options);
    expect(refusal(await call('PUT', `/${own.identifier}`, { api_key }, options))).toEqual(TAKEN);
    await call('PUT', `/${identifier}`, { api_key: newKey() });
    expect(refusal(await call('POST', '', { api_key }, options))).toEqual(TAKEN);
    expect((await create({ api_key })).api_key).toBe(api_key);
    for (const sorKey of [world.apiKey, stranger.apiKey])
      expect(refusal(await call('POST', '', { api_key: sorKey }))).toEqual(TAKEN);
  });

  test.each([
    ['short'],
    ['nodigits-AB'],
    ['no-upper-1'],
    ['NO-LOWER-1'],
    ['has space 1A'],
    ['has:colon-1A'],
    [''],
    [7],
    [`aA1${'x'.repeat(254)}`],
  ])("can't be %j", async (api_key) => {
    expect(refusal(await call('POST', '', { api_key }))).toEqual(TAKEN);
    expect(refusal(await call('PUT', `/${(await create()).identifier}`, { api_key }))).toEqual(TAKEN);
  });

  test("that is unknown, or another app's, is not found; nor is one of an unknown app", async () => {
    const second = await makeApp();
    const { identifier } = await create({}, { of: second.identifier });
    for (const path of ['/key_none', `/${identifier}`]) {
      for (const method of ['GET', 'PUT'] as const) {
        const { status, body } = await call(method, path, method === 'PUT' ? { revoked: true } : undefined);
        expect([status, body.status, body.error_message]).toEqual([404, 'not_found', 'API key not found']);
      }
    }
    const stranger = await makeApp(await makeWorld(store));
    for (const unseen of ['app_none', stranger.identifier]) {
      const unknown = async (method: Method, path: string, body?: object) => {
        const answer = await call(method, path, body, { of: unseen });
        return [answer.status, answer.body.status, answer.body.error_message];
      };
      expect(await unknown('GET', '')).toEqual([404, 'not_found', 'App not found']);
      expect(await unknown('GET', `/${identifier}`)).toEqual([404, 'not_found', 'App not found']);
      expect(await unknown('PUT', `/${identifier}`, {})).toEqual([404, 'not_found', 'App not found']);
      expect(await unknown('POST', '', {})).toEqual([400, 'not_found', 'App not found']);
    }
  });

  test('may be sent as a web form', async () => {
    const api_key = newKey();
    rememberSecret(api_key);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { body } = await server.call('POST', `/api/apps/${app}/api_keys`, {
      token: world.token,
      body: new URLSearchParams({ api_key, revoked: 'true' }).toString(),
      headers,
    });
    expect(body.result).toMatchObject({ api_key, revoked: true });
  });

  test('is stored sealed, and who changed or saw it is written down', async () => {
    const { identifier, api_key } = await create();
    await call('GET', `/${identifier}`);
    await call('PUT', `/${identifier}`, { revoked: true });
    await call('GET');
    const { rows } = await store.db.query<{ action: string; details: object }>(
      'SELECT action, details FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id',
      [world.entity.id, identifier],
    );
    expect(rows).toEqual([
      { action: 'create', details: { app, revoked: false } },
      { action: 'read', details: {} },
      { action: 'update', details: { app, api_key: false, revoked: true } },
    ]);
    const listed = await store.db.query(
      `SELECT details FROM audit_log WHERE entity_id = $1 AND subject = $2 AND action = 'read' ORDER BY id DESC LIMIT 1`,
      [world.entity.id, app],
    );
    expect(listed.rows).toEqual([{ details: { api_keys: expect.any(Number) } }]);
    const stored = await store.db.query<{ row: string }>(
      'SELECT k::text AS row FROM app_api_keys k WHERE identifier = $1',
      [identifier],
    );
    expect(stored.rows[0]!.row).not.toContain(api_key);
  });
});

describe('an app that a key speaks for', () => {
  test('is found with what is kept of what comes for it, unless its entity is inactive', async () => {
    const own = await makeWorld(store);
    const { identifier, sor_id, package_name } = await makeApp(own, 'Web App');
    const { api_key } = await create({}, { of: identifier, own });
    const [keyed, ...others] = (await findTrackingTarget(store.db, store.secrets, api_key))!.apps;
    expect([keyed, others]).toEqual([
      {
        entityId: own.entity.id,
        appId: expect.any(Number),
        sorId: expect.any(Number),
        identifier,
        packageName: package_name,
        appType: 'Web App',
        timezone: 'Asia/Tokyo',
        sessionTimeout: 60,
      },
      [],
    ]);
    const { rows } = await store.db.query('SELECT identifier FROM systems_of_records WHERE id = $1', [keyed!.sorId]);
    expect(rows).toEqual([{ identifier: sor_id }]);
    await store.db.query('UPDATE entities SET active = false WHERE id = $1', [own.entity.id]);
    expect(await found(api_key)).toEqual([]);
    for (const key of [own.apiKey, 'nobody-has-1A']) expect(await found(key)).toEqual([]);
  });
});
