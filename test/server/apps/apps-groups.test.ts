import { describe, expect, test } from 'vitest';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
let apps = 0;
const call = (method: Method, path = '', body?: object, own: World = world) =>
  server.call(method, `/api/app_groups${path}`, { token: own.token, ...(body ? { body } : {}) });
const create = async (body: object, own = world) =>
  (await call('POST', '', body, own)).body.result as { identifier: string; created_at: number };
const makeApp = async (body: object = {}, own = world) =>
  (
    await server.call('POST', '/api/apps', {
      token: own.token,
      body: { name: 'Shop', package_name: `com.example.app${(apps += 1)}`, app_type: 'iOS App', ...body },
    })
  ).body.result.identifier as string;
const groupsOf = async (app: string) =>
  (await server.call('GET', `/api/apps/${app}`, { token: world.token })).body.result.apps[0].app_groups as object[];
const fault = ({ status, body }: { status: number; body: { messages?: { element: string }[] } }) => [
  status,
  body.messages?.map(({ element }) => element),
];

describe('a group of apps', () => {
  test('has apps, which show it', async () => {
    const [one, two] = [await makeApp(), await makeApp()];
    const group = await create({ name: 'Retail', apps: [two, one] });
    expect(group).toEqual({
      identifier: expect.stringMatching(/^grp_/),
      name: 'Retail',
      created_at: expect.closeTo(Date.now() / 1_000, -2),
      apps: [one, two],
    });
    expect(await groupsOf(one)).toEqual([
      { identifier: group.identifier, name: 'Retail', created_at: group.created_at },
    ]);
    expect((await call('GET', `/${group.identifier}`)).body.result).toEqual(group);
    expect((await call('GET')).body.result).toContainEqual(group);
  });

  test('is renamed, gets other apps and is deleted; its apps stay', async () => {
    const [one, two] = [await makeApp(), await makeApp()];
    const { identifier } = await create({ name: 'Before', apps: [one] });
    expect((await call('PUT', `/${identifier}`, { name: 'After' })).body.result).toMatchObject({
      name: 'After',
      apps: [one],
    });
    expect((await call('PUT', `/${identifier}`, { apps: [two] })).body.result).toMatchObject({
      name: 'After',
      apps: [two],
    });
    expect((await call('DELETE', `/${identifier}`)).body).toEqual({ success: true });
    expect(await groupsOf(two)).toEqual([]);
    const { rows } = await store.db.query<{ action: string }>(
      'SELECT action FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id',
      [world.entity.id, identifier],
    );
    expect(rows.map(({ action }) => action)).toEqual(['create', 'update', 'update', 'delete']);
  });

  test('is given to an app with it, or by a change of it', async () => {
    const [a, b] = [await create({ name: 'A' }), await create({ name: 'B' })];
    const app = await makeApp({ app_groups: [b.identifier, a.identifier] });
    expect(await groupsOf(app)).toMatchObject([{ name: 'A' }, { name: 'B' }]);
    const change = (body: object) =>
      server.call('PUT', `/api/apps/${app}`, { token: world.token, body: { app_type: 'iOS App', ...body } });
    await change({ name: 'Still' });
    expect(await groupsOf(app)).toMatchObject([{ name: 'A' }, { name: 'B' }]);
    await change({ app_groups: [b.identifier] });
    expect(await groupsOf(app)).toMatchObject([{ name: 'B' }]);
    await change({ app_groups: [] });
    expect(await groupsOf(app)).toEqual([]);
  });

  test('gives each app that enters or leaves it a new revision, and no other app', async () => {
    const [one, two] = [await makeApp(), await makeApp()];
    const revisions = async () =>
      Promise.all(
        [one, two].map(
          async (app) =>
            (await server.call('GET', `/api/apps/${app}`, { token: world.token })).body.result.apps[0]
              .revision as number,
        ),
      );
    const { identifier } = await create({ name: 'Revised', apps: [one] });
    expect(await revisions()).toEqual([2, 1]);
    await call('PUT', `/${identifier}`, { name: 'Renamed', apps: [one, two] });
    expect(await revisions()).toEqual([2, 2]);
    await call('PUT', `/${identifier}`, { apps: [two] });
    expect(await revisions()).toEqual([3, 2]);
    await call('DELETE', `/${identifier}`);
    expect(await revisions()).toEqual([3, 3]);
    const body = { app_type: 'iOS App', app_groups: [(await create({ name: 'Joined' })).identifier], revision: 3 };
    const changed = await server.call('PUT', `/api/apps/${one}`, { token: world.token, body });
    expect(changed.body.result.apps).toMatchObject([{ revision: 4 }]);
  });

  test('has a name of its own in the entity, which it keeps', async () => {
    const { identifier } = await create({ name: 'Mine' });
    const other = await create({ name: 'Other' });
    expect(fault(await call('POST', '', { name: 'Mine' }))).toEqual([400, ['name']]);
    expect(fault(await call('PUT', `/${other.identifier}`, { name: 'Mine' }))).toEqual([400, ['name']]);
    expect((await call('PUT', `/${identifier}`, { name: 'Mine' })).status).toBe(200);
    expect((await create({ name: 'Mine' }, await makeWorld(store))).identifier).toMatch(/^grp_/);
    const replies = await Promise.all([1, 2, 3].map(() => call('POST', '', { name: 'Race' })));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
  });

  test('has apps of its entity alone, and is unknown to others', async () => {
    const stranger = await makeWorld(store);
    const theirs = await makeApp({}, stranger);
    expect(fault(await call('POST', '', { name: 'Mixed', apps: [await makeApp(), theirs] }))).toEqual([
      400,
      ['apps.1'],
    ]);
    const { identifier } = await create({ name: 'Unseen' });
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const { status, body } = await call(
        method,
        `/${identifier}`,
        method === 'PUT' ? { name: 'Seen' } : undefined,
        stranger,
      );
      expect([status, body.status, body.error_message]).toEqual([404, 'not_found', 'App group not found']);
    }
  });
});
