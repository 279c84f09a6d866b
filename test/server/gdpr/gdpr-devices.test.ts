import { beforeEach, describe, expect, test } from 'vitest';
import type { Right } from '../../../domain/accounts/rights.ts';
import type { JobRef } from '../../../domain/jobs/job.ts';
import { insertToken } from '../../../store/accounts/tokens.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { write } from '../../../store/core/database.ts';
import { insertTokenKey, signUserToken } from '../../harness/apps/user-tokens.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from '../tracking/sample-tracking.ts';

/** What people ask for from their devices, and who decides about it. */

const started: JobRef[] = [];
const { store, server, world } = useServer({ server: { startJob: async (_kind, ref) => void started.push(ref) } });
let app: KeyedSampleApp;

const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) =>
  server.call(method, path, { token: world.token, ...(body ? { body } : {}) });
const post = (path: string, body: object) =>
  server.call('POST', path, { body: JSON.stringify(body), headers: basic(app.apiKey) });
const seen = (deviceId: string, userId?: string) =>
  post('/v1/track', { event: 'Seen', anonymousId: deviceId, ...(userId ? { userId } : {}) });
const ask = async (body: object) => (await post('/v1/privacy', body)).body.result;
const decide = (identifier: string, decision: 'approve' | 'decline') =>
  call('POST', `/api/gdpr/requests/${identifier}/${decision}`);
const list = async () => (await call('GET', `/api/apps/${app.app.identifier}/privacy_requests`)).body.result;
const setUp = (settings: object) =>
  call('PUT', `/api/apps/${app.app.identifier}`, { app_type: 'iOS App', ...settings });
const startedOnes = () => started.map(({ identifier }) => identifier);

let members = 0;
/** Somebody else of the entity, with these rights alone. */
const insertMember = (...rights: Right[]) =>
  write(store.db, async (tx) => {
    const email = `member-${(members += 1)}@example.com`;
    const user = await insertUser(tx, { email, passwordHash: '', preferedEntityId: world.entity.id });
    await insertMembership(tx, { userId: user.id, entityId: world.entity.id, rights, admin: false });
    const token = await insertToken(tx, user.id, world.entity.id, 1);
    rememberSecret(token);
    return { email, token };
  });

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
      result: {
        identifier: expect.stringMatching(/^gdp_/),
        type: 'delete',
        state: 'waiting',
        received_at: expect.any(String),
        covers: 'device',
      },
    });
    expect(await ask({ type: 'delete', anonymousId: 'asking' })).toEqual(body.result);
    expect(startedOnes()).toEqual([]);
    const access = await ask({ type: 'access', context: { device: { id: 'asking' } } });
    expect(access.state).toBe('accepted');
    expect(await ask({ type: 'access', deviceId: 'asking' })).toEqual(access);
    expect(startedOnes()).toEqual([access.identifier]);
    expect(await list()).toMatchObject({
      total_items: 2,
      items: [
        { type: 'access', device_id: 'asking', user_id: null, state: 'accepted' },
        { identifier: body.result.identifier, type: 'delete', state: 'waiting' },
      ],
    });
  });

  test('it is for the device, whomever that names; with a user token for the user', async () => {
    await seen('asking', personId(8));
    const ofDevice = await ask({ type: 'access', deviceId: 'asking', userId: personId(8) });
    expect(ofDevice).toMatchObject({
      covers: 'device',
      notice: expect.stringMatching(/^userId counts only with a userToken/),
    });
    const userToken = await signUserToken(await insertTokenKey(store, world.entity.id, app.app.id), {
      sub: personId(9),
    });
    const ofUser = await ask({ type: 'access', deviceId: 'asking', userToken });
    expect(ofUser).toMatchObject({ covers: 'user', state: 'accepted' });
    expect((await list()).items).toMatchObject([
      { identifier: ofUser.identifier, device_id: 'asking', user_id: personId(9) },
      { identifier: ofDevice.identifier, device_id: 'asking', user_id: null },
    ]);
    expect(startedOnes()).toEqual([ofDevice.identifier, ofUser.identifier]);
  });

  test('what is malformed, or of an unknown device, is refused', async () => {
    await seen('asking', personId(9));
    const refused = async (body: object) => (await post('/v1/privacy', body)).body.messages[0].element as string;
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
    const [erased, shown] = [
      await ask({ type: 'delete', deviceId: 'asking' }),
      await ask({ type: 'access', deviceId: 'asking' }),
    ];
    await store.db.query(`UPDATE gdpr_requests SET state = 'treated', treated_at = now() WHERE app_id = $1`, [
      app.app.id,
    ]);
    expect((await ask({ type: 'access', deviceId: 'asking' })).identifier).toBe(shown.identifier);
    expect((await ask({ type: 'delete', deviceId: 'asking' })).identifier).not.toBe(erased.identifier);
    await store.db.query(`UPDATE gdpr_requests SET received_at = received_at - interval '1 day' WHERE app_id = $1`, [
      app.app.id,
    ]);
    expect((await ask({ type: 'access', deviceId: 'asking' })).identifier).not.toBe(shown.identifier);
  });
});

describe('more requests than a person makes', () => {
  const expectLater = async (body: object, seconds: [least: number, most: number]) => {
    const reply = await post('/v1/privacy', body);
    const { retry_after: after } = reply.body;
    expect([reply.status, reply.body.status, reply.headers['retry-after']]).toEqual([
      429,
      'too_many_requests',
      String(after),
    ]);
    expect(after).toBeGreaterThanOrEqual(seconds[0]);
    expect(after).toBeLessThanOrEqual(seconds[1]);
  };

  test('of a device are refused until a day after the first of the last three', async () => {
    await setUp({ gdpr_approval: false });
    await seen('asking');
    const body = { type: 'delete', deviceId: 'asking' };
    for (let n = 0; n < 3; n += 1) {
      expect(await ask(body)).toMatchObject({ state: 'accepted' });
      await store.db.query(`UPDATE gdpr_requests SET state = 'treated', treated_at = now() WHERE app_id = $1`, [
        app.app.id,
      ]);
    }
    await store.db.query(`UPDATE gdpr_requests SET received_at = received_at - interval '20 hours' WHERE app_id = $1`, [
      app.app.id,
    ]);
    await expectLater(body, [4 * 3_600 - 60, 4 * 3_600]);
    expect(await ask({ type: 'access', deviceId: 'asking' })).toMatchObject({ state: 'accepted' });
    await store.db.query(`UPDATE gdpr_requests SET received_at = received_at - interval '5 hours' WHERE app_id = $1`, [
      app.app.id,
    ]);
    expect(await ask(body)).toMatchObject({ state: 'accepted' });
  });

  test('of a person are refused from whichever device they come, also at once, and keep nobody else from asking', async () => {
    const key = await insertTokenKey(store, world.entity.id, app.app.id);
    const from = async (deviceId: string, person: number) => {
      await seen(deviceId);
      return { type: 'delete', deviceId, userToken: await signUserToken(key, { sub: personId(person) }) };
    };
    const bodies = await Promise.all(Array.from({ length: 5 }, (_, n) => from(`device ${n}`, 30)));
    const replies = await Promise.all(bodies.map((body) => post('/v1/privacy', body)));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 429, 429]);
    await expectLater(await from('device 6', 30), [86_400 - 60, 86_400]);
    expect(await ask(await from('device 6', 31))).toMatchObject({ covers: 'user' });
  });

  test('of made-up devices are refused beyond 20 in a minute and 120 in an hour of an app; users with a token still ask', async () => {
    const from = async (device: number) => {
      await seen(`made up ${device}`);
      return { type: 'access', deviceId: `made up ${device}` };
    };
    const bodies = await Promise.all(Array.from({ length: 30 }, (_, device) => from(device)));
    const replies = await Promise.all(bodies.map((body) => post('/v1/privacy', body)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(10);
    const late = bodies[replies.findIndex(({ status }) => status === 429)]!;
    await expectLater(late, [50, 60]);
    const userToken = await signUserToken(await insertTokenKey(store, world.entity.id, app.app.id), {
      sub: personId(33),
    });
    expect(await ask({ ...late, userToken })).toMatchObject({ covers: 'user' });
    const age = (seconds: number) =>
      store.db.query(
        'UPDATE gdpr_requests SET received_at = received_at - make_interval(secs => $2) WHERE app_id = $1',
        [app.app.id, seconds],
      );
    await age(61);
    await store.db.query(
      `INSERT INTO gdpr_requests (entity_id, identifier, request_type, source, app_id, requester_kind, state, is_unvouched)
       SELECT $1, 'gdp_hour_' || n, 'delete', 'sdk', $2, 'device', 'declined', true FROM generate_series(1, 99) n`,
      [world.entity.id, app.app.id],
    );
    await age(61);
    expect(await ask(late)).toMatchObject({ covers: 'device' });
    await expectLater({ ...(await from(31)) }, [3_400, 3_600]);
  });

  test("are not open of an app's devices, which anybody with its key can make up; users with a token still ask", async () => {
    await seen('asking');
    await store.db.query(
      `WITH made AS (
         INSERT INTO gdpr_requests (entity_id, identifier, request_type, source, app_id, requester_kind, state)
         SELECT $1, 'gdp_made_up_' || n, 'delete', 'sdk', $2, 'device', 'waiting' FROM generate_series(1, 999) n RETURNING entity_id, id)
       INSERT INTO gdpr_request_people (entity_id, request_id, ordinal, device_id) SELECT entity_id, id, 1, 'made up ' || id FROM made`,
      [world.entity.id, app.app.id],
    );
    const access = await ask({ type: 'access', deviceId: 'asking' });
    await expectLater({ type: 'delete', deviceId: 'asking' }, [3_600, 3_600]);
    expect(await ask({ type: 'access', deviceId: 'asking' })).toEqual(access); // what is open is one request as before
    const userToken = await signUserToken(await insertTokenKey(store, world.entity.id, app.app.id), {
      sub: personId(32),
    });
    expect(await ask({ type: 'delete', deviceId: 'asking', userToken })).toMatchObject({
      covers: 'user',
      state: 'waiting',
    });
  });
});

describe('a deletion that waits', () => {
  const waiting = async (device: string, person: number): Promise<string> => {
    await seen(device, personId(person));
    return (await ask({ type: 'delete', deviceId: device })).identifier as string;
  };

  test('begins once it is approved, and is decided about once', async () => {
    const identifier = await waiting('asking', 20);
    const answers = await Promise.all([
      decide(identifier, 'approve'),
      decide(identifier, 'decline'),
      decide(identifier, 'approve'),
    ]);
    const [decided, ...late] = answers.toSorted((a, b) => a.status - b.status);
    expect([decided!.status, late.map(({ status }) => status)]).toEqual([200, [409, 409]]);
    expect(late[0]!.body.message).toMatch(
      new RegExp(`^Request ${identifier} is (accepted|declined): only one that is waiting`),
    );
    const another = await waiting('another', 21);
    started.length = 0;
    expect((await decide(another, 'approve')).body.result).toMatchObject({
      request_id: another,
      state: 'accepted',
      expires_at: null,
      people: { asked: 1 },
    });
    expect(startedOnes()).toEqual([another]);
    const { rows } = await store.db.query(
      `SELECT action, actor_id, details FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id DESC LIMIT 1`,
      [world.entity.id, another],
    );
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

describe('a member with apps_manage alone', () => {
  test('neither sets who is told nor does without approval, and by naming a victim on a device of theirs reaches nobody', async () => {
    const { token, email } = await insertMember('apps', 'apps_manage');
    for (const settings of [{ gdpr_emails: [email] }, { gdpr_approval: false }]) {
      const reply = await server.call('PUT', `/api/apps/${app.app.identifier}`, {
        token,
        body: { app_type: 'iOS App', ...settings },
      });
      expect([reply.status, reply.body.status]).toEqual([403, 'forbidden']);
      expect(reply.body.message).toContain('gdpr_data_manage');
    }
    await post('/v1/identify', { userId: personId(1), anonymousId: 'of the attacker' });
    for (const type of ['access', 'delete']) {
      expect(await ask({ type, deviceId: 'of the attacker', userId: personId(1) })).toMatchObject({ covers: 'device' });
    }
    const asked = [
      { device_id: 'of the attacker', user_id: null },
      { device_id: 'of the attacker', user_id: null },
    ];
    expect((await list()).items).toMatchObject(asked);
  });
});
