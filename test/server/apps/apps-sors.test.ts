import { describe, expect, test } from 'vitest';
import { makeWorld } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
const call = (method: Method, path: string, body?: object, token = world.token) =>
  server.call(method, `/api/${path}`, { token, ...(body ? { body } : {}) });
const create = async (name: string) =>
  (
    await call('POST', 'apps', {
      name,
      package_name: `com.example.${name.toLowerCase()}`,
      app_type: 'Web App',
    })
  ).body.result as { identifier: string; sor_id: string };
const sorOf = async (identifier: string) =>
  (await call('GET', `apps/${identifier}`)).body.result.apps[0].sor_id as string;
const view = async (sor: string) => (await call('GET', `system_of_records/${sor}`)).body.result;

describe('the System of Records of an app', () => {
  test('is made with it, listed, and named after it', async () => {
    const app = await create('Named');
    expect(await view(app.sor_id)).toMatchObject({
      name: 'Named',
      identifier: app.sor_id,
      type: 'app',
      api_keys: [],
      attributes_count: 0,
      disabled: false,
    });
    const listed = (await call('GET', 'system_of_records?type=app')).body.result as { identifier: string }[];
    expect(listed.map(({ identifier }) => identifier)).toEqual([app.sor_id]);
    await call('PUT', `apps/${app.identifier}`, { app_type: 'Web App', name: 'Renamed' });
    expect(await view(app.sor_id)).toMatchObject({ name: 'Renamed' });
  });

  test('can be disabled and enabled, but not renamed by itself', async () => {
    const { sor_id } = await create('Switched');
    expect((await call('PUT', `system_of_records/${sor_id}/disable`)).body).toEqual({ success: true });
    expect(await view(sor_id)).toMatchObject({ disabled: true });
    expect((await call('PUT', `system_of_records/${sor_id}/enable`)).body).toEqual({ success: true });
    expect((await call('PUT', `system_of_records/${sor_id}`, { name: 'Mine' })).body.status).toBe('bad_request');
  });

  test('that is deleted is made anew, empty and with the name that the app has', async () => {
    const { identifier, sor_id } = await create('Anew');
    await call('PUT', `apps/${identifier}`, { app_type: 'Web App', name: 'Anew, renamed' });
    await call('PUT', `system_of_records/${sor_id}/disable`);
    expect((await call('DELETE', `system_of_records/${sor_id}`)).body).toEqual({ success: true });
    expect((await call('GET', `system_of_records/${sor_id}`)).status).toBe(404);
    const next = await sorOf(identifier);
    expect(next).not.toBe(sor_id);
    expect(await view(next)).toMatchObject({
      name: 'Anew, renamed',
      type: 'app',
      attributes_count: 0,
      disabled: false,
    });
  });

  test('that is deleted by several at once, and renamed meanwhile, is there once', async () => {
    const { identifier, sor_id } = await create('Race');
    const replies = await Promise.all([
      call('DELETE', `system_of_records/${sor_id}`),
      call('DELETE', `system_of_records/${sor_id}`),
      call('PUT', `apps/${identifier}`, { app_type: 'Web App', name: 'Race, renamed' }),
    ]);
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 404]);
    expect(await view(await sorOf(identifier))).toMatchObject({ name: 'Race, renamed' });
  });

  test('of another entity is not deleted', async () => {
    const { identifier, sor_id } = await create('Stranger');
    const stranger = await makeWorld(store);
    expect((await call('DELETE', `system_of_records/${sor_id}`, undefined, stranger.token)).status).toBe(404);
    expect(await sorOf(identifier)).toBe(sor_id);
  });
});
