import { describe, expect, test } from 'vitest';
import { makeWorld } from '../../harness/core/world.ts';
import type { CallOptions } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, options: CallOptions = {}) =>
  server.call(method, `/api/customer_attributes${path}`, { token: world.token, ...options });
const define = (key: string, more: object = {}) =>
  call('POST', '', { body: { sor_id: world.sor.identifier, key, value_type: 'String', ...more } });

describe('a customer attribute', () => {
  test('is defined, viewed, relabelled, disabled and deleted', async () => {
    const { body } = await define('city', { label: 'Home town' });
    const record = {
      identifier: expect.stringMatching(/^atr_/),
      key: 'city',
      label: 'Home town',
      value_type: 'String',
      disabled: false,
      is_identifier: false,
      sensitive: false,
      sor_id: world.sor.identifier,
      sor: { name: 'CRM', identifier: world.sor.identifier, type: 'custom' },
    };
    expect(body.result).toEqual({ ...record, sources: [] });
    const path = `/${body.result.identifier}`;
    expect((await call('GET', path)).body.result).toEqual({ ...record, sources: [] });
    expect((await call('GET', path, { v3: true })).body.result).toEqual(record);
    const change = async (body: object) => (await call('PUT', path, { body })).body.result;
    expect(await change({ label: 'Town' })).toMatchObject({ label: 'Town', disabled: false });
    expect(await change({ disabled: true })).toMatchObject({ label: 'Town', disabled: true });
    expect(await change({ is_identifier: true })).toMatchObject({ label: 'Town', is_identifier: true });
    expect(await change({ sensitive: true })).toMatchObject({ is_identifier: true, sensitive: true });
    expect((await define('member', { is_identifier: true })).body.result).toMatchObject({
      is_identifier: true,
      sensitive: false,
    });
    expect((await define('salary', { sensitive: true })).body.result).toMatchObject({
      is_identifier: false,
      sensitive: true,
    });
    expect((await call('DELETE', path)).body).toEqual({ success: true });
    const gone = await call('GET', path);
    expect([gone.status, gone.body.error_message]).toEqual([404, 'Customer attribute not found']);
  });

  test('of a guessed type is defined as that type or as a String, and of no other', async () => {
    const { body } = await define('guess', { value_type: 'Number' });
    const path = `/${body.result.identifier}`;
    const change = async (value_type: string) => (await call('PUT', path, { body: { value_type }, v3: true })).body;
    expect((await change('String')).messages[0].element).toBe('value_type');
    const guess = () =>
      store.db.query('UPDATE customer_attributes SET is_guessed = true WHERE identifier = $1', [
        body.result.identifier,
      ]);
    await guess();
    expect((await call('GET', path, { v3: true })).body.result).toMatchObject({ value_type: 'Number', guessed: true });
    expect((await change('Date')).messages[0].message).toContain('Number or String');
    const defined = (await change('Number')).result;
    expect(defined).toMatchObject({ value_type: 'Number' });
    expect(defined).not.toHaveProperty('guessed');
    await guess();
    expect((await change('String')).result).toMatchObject({ value_type: 'String' });
    expect((await change('Number')).messages[0].element).toBe('value_type');
  });

  test('needs a key of its own', async () => {
    const refused = await define('plan');
    expect([refused.status, refused.body.messages[0].element]).toEqual([400, 'key']);
    const both = await Promise.all([define('twin'), define('twin')]);
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(both.filter(({ status }) => status === 400)).toHaveLength(1);
  });

  test.each([
    ['key', { key: '' }],
    ['key', { key: 'k'.repeat(257) }],
    ['key', { key: 5 }],
    ['value_type', { value_type: 'Text' }],
    ['value_type', { value_type: null }],
    ['sor_id', { sor_id: undefined }],
    ['label', { label: '' }],
  ])('is refused by the name of its wrong field: %s', async (element, wrong) => {
    const refused = await define('fine', wrong);
    expect([refused.status, refused.body.messages[0].element]).toEqual([400, element]);
  });

  test('of the global SoR, or of an unknown one, cannot be defined or changed, but marked as an identifier', async () => {
    const list = await server.call('GET', '/api/system_of_records?type=global', { token: world.token });
    const [global] = list.body.result;
    expect((await define('x', { sor_id: global.identifier })).body.status).toBe('bad_request');
    const path = `/${global.customer_attributes[0].identifier}`;
    expect((await call('GET', path)).status).toBe(200);
    expect((await call('PUT', path, { body: { label: 'x' } })).status).toBe(400);
    expect((await call('DELETE', path)).status).toBe(400);
    expect((await call('PUT', path, { body: { is_identifier: true, label: 'x' } })).status).toBe(400);
    expect((await call('PUT', path, { body: { is_identifier: true } })).body.result).toMatchObject({
      is_identifier: true,
    });
    expect((await call('PUT', path, { body: { sensitive: true } })).body.result).toMatchObject({
      is_identifier: true,
      sensitive: true,
    });
    expect((await call('GET', path, { v3: true })).status).toBe(404);
    expect((await define('x', { sor_id: 'sor_unknown' })).body.error_message).toBe('System of record not found');
  });

  test('goes with its SoR, and is unknown to another entity', async () => {
    const stranger = await makeWorld(store);
    const path = `/${stranger.attributes['plan']!.identifier}`;
    expect((await call('GET', path)).status).toBe(404);
    expect((await call('DELETE', path)).status).toBe(404);
    expect((await call('GET', path, { token: stranger.token })).status).toBe(200);
    await server.call('DELETE', `/api/system_of_records/${stranger.sor.identifier}`, { token: stranger.token });
    expect((await call('GET', path, { token: stranger.token })).status).toBe(404);
  });
});
