import { beforeEach, describe, expect, test } from 'vitest';
import type { GdprRef } from '../../store/gdpr/request-record.ts';
import { personId } from '../harness/people.ts';
import { makeWorld } from '../harness/world.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from './sample-tracking.ts';
import { useServer } from './use-server.ts';

/** What people ask for from their devices, and who decides about it. */

const started: GdprRef[] = [];
const { store, server, world } = useServer({ server: { startGdprRequest: async (ref) => void started.push(ref) } });
let app: KeyedSampleApp;

const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) =>
  server.call(method, path, { token: world.token, ...(body ? { body } : {}) });
const post = (path: string, body: object) =>
  server.call('POST', path, { body: JSON.stringify(body), headers: basic(app.apiKey) });
const seen = (deviceId: string, userId?: string) =>
  post('/v1/track', { event: 'Seen', anonymousId: deviceId, ...(userId ? { userId } : {}) });
const ask = async (body: object) => (await post('/v1/privacy', body)).body.result;
const decide = (identifier: string, decision: 'approve' | 'decline') => call('POST', `/api/gdpr/requests/${identifier}/${decision}`);
const list = async () => (await call('GET', `/api/apps/${app.app.identifier}/privacy_requests`)).body.result;
const setUp = (settings: object) => call('PUT', `/api/apps/${app.app.identifier}`, { app_type: 'iOS App', ...settings });
const startedOnes = () => started.map(({ identifier }) => identifier);

beforeEach(async () => {
  started.length = 0;
  app = await insertKeyedApp(store, world);
});

describe('from a device', () => {
  test('a deletion waits for approval, an access begins at once; each is one request a day', async () => {
    await seen('asking', personId(7));
    const { body } = await post('/v1/privacy', { type: 'delete', deviceId: 'asking' });
    expect(body).toEqual({
      success: true,
      result: { identifier: expect.stringMatching(/^gdp_/), type: 'delete', state: 'waiting', received_at: expect.any(String) },
    });
    expect(await ask({ type: 'delete', anonymousId: 'asking', userId: personId(7) })).toEqual(body.result);
    expect(startedOnes()).toEqual([]);
    const access = await ask({ type: 'access', context: { device: { id: 'asking' } } });
    expect(access.state).toBe('accepted');
    expect(await ask({ type: 'access', deviceId: 'asking' })).toEqual(access);
    expect(startedOnes()).toEqual([access.identifier]);
    expect(await list()).toMatchObject({ total_items: 2, items: [
      { type: 'access', device_id: 'asking', user_id: personId(7), state: 'accepted' },
      { identifier: body.result.identifier, type: 'delete', state: 'waiting' },
    ] });
  });

  test('it is for the user last seen there, else for the device', async () => {
    await seen('nameless');
    await ask({ type: 'access', deviceId: 'nameless' });
    await seen('nameless', personId(8));
    const named = await ask({ type: 'access', deviceId: 'nameless' });
    expect((await list()).items).toMatchObject([{ identifier: named.identifier, user_id: personId(8) }, { user_id: null }]);
  });

  test('what is malformed, of somebody else or of an unknown device is refused', async () => {
    await seen('asking', personId(9));
    const refused = async (body: object) => (await post('/v1/privacy', body)).body.messages[0].element as string;
    expect(await refused({ type: 'delete', deviceId: 'asking', userId: personId(10) })).toBe('userId');
    expect(await refused({ type: 'forget', deviceId: 'asking' })).toBe('type');
    expect(await refused({ type: 'delete', userId: personId(9) })).toBe('deviceId');
    expect(await refused({ type: 'delete' })).toBe('deviceId');
    expect((await post('/v1/privacy', { type: 'delete', deviceId: 'nobody knows it' })).status).toBe(404);
  });

  test('a deletion begins at once where the app does without approval', async () => {
    await setUp({ gdpr_approval: false });
    await seen('asking', personId(11));
    const { identifier, state } = await ask({ type: 'delete', deviceId: 'asking' });
    expect([state, startedOnes()]).toEqual(['accepted', [identifier]]);
  });

  test('a deletion that was carried out, or an access of yesterday, does not stand for what is asked for since', async () => {
    await setUp({ gdpr_approval: false });
    await seen('asking', personId(12));
    const [erased, shown] = [await ask({ type: 'delete', deviceId: 'asking' }), await ask({ type: 'access', deviceId: 'asking' })];
    await store.db.query(`UPDATE gdpr_requests SET state = 'treated', treated_at = now() WHERE app_id = $1`, [app.app.id]);
    expect((await ask({ type: 'access', deviceId: 'asking' })).identifier).toBe(shown.identifier);
    expect((await ask({ type: 'delete', deviceId: 'asking' })).identifier).not.toBe(erased.identifier);
    await store.db.query(`UPDATE gdpr_requests SET received_at = received_at - interval '1 day' WHERE app_id = $1`, [app.app.id]);
    expect((await ask({ type: 'access', deviceId: 'asking' })).identifier).not.toBe(shown.identifier);
  });

  test('it names whom to tell: those whom the app does', async () => {
    await setUp({ gdpr_emails: ['privacy@example.com'] });
    await seen('asking', personId(13));
    const { identifier } = await ask({ type: 'delete', deviceId: 'asking' });
    const { rows } = await store.db.query(
      'SELECT emails, requester_kind, skip_email FROM gdpr_requests WHERE identifier = $1', [identifier]);
    expect(rows).toEqual([{ emails: ['privacy@example.com'], requester_kind: 'device', skip_email: false }]);
  });
});

describe('a deletion that waits', () => {
  const waiting = async (device: string, person: number): Promise<string> => {
    await seen(device, personId(person));
    return (await ask({ type: 'delete', deviceId: device })).identifier as string;
  };

  test('begins once it is approved, and is decided about once', async () => {
    const identifier = await waiting('asking', 20);
    const answers = await Promise.all([decide(identifier, 'approve'), decide(identifier, 'decline'), decide(identifier, 'approve')]);
    const [decided, ...late] = answers.toSorted((a, b) => a.status - b.status);
    expect([decided!.status, late.map(({ status }) => status)]).toEqual([200, [409, 409]]);
    expect(late[0]!.body.message).toMatch(new RegExp(`^Request ${identifier} is (accepted|declined): only one that is waiting`));
    const another = await waiting('another', 21);
    started.length = 0;
    expect((await decide(another, 'approve')).body.result)
      .toMatchObject({ request_id: another, state: 'accepted', expires_at: null, people: { asked: 1 } });
    expect(startedOnes()).toEqual([another]);
    const { rows } = await store.db.query(
      `SELECT action, actor_id, details FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id DESC LIMIT 1`,
      [world.entity.id, another]);
    expect(rows).toEqual([{ action: 'approve', actor_id: world.user.id, details: {} }]);
  });

  test('is shown as declined for a week once it is declined', async () => {
    const identifier = await waiting('asking', 22);
    const { result } = (await decide(identifier, 'decline')).body;
    expect(result).toMatchObject({ request_id: identifier, state: 'declined', source: 'sdk' });
    expect(Date.parse(result.expires_at) - Date.now()).toBeGreaterThan(6.99 * 86_400_000);
    expect((await list()).items).toMatchObject([{ identifier, state: 'declined' }]);
    expect((await ask({ type: 'delete', deviceId: 'asking' })).state).toBe('declined');
    expect(startedOnes()).toEqual([]);
  });

  test('is decided about by people of its own entity alone', async () => {
    const identifier = await waiting('asking', 23);
    const others = await makeWorld(store);
    const reply = await server.call('POST', `/api/gdpr/requests/${identifier}/approve`, { token: others.token });
    expect([reply.status, reply.body.message]).toEqual([404, 'Request not found']);
  });
});
