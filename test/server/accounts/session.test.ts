import { describe, expect, test } from 'vitest';
import { hashPassword } from '../../../server/accounts/passwords.ts';
import { insertEntity } from '../../../store/accounts/entities.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { useServer } from '../http/use-server.ts';

/** As the reference lists them. */
const FLAGS = [
  'apps',
  'campaign_view',
  'campaign_draft',
  'campaign_publish',
  'inapp_library_manage',
  'transactional_campaigns',
  'ab_testing',
  'dynamic_campaigns',
  'web_inbox',
  'comments',
  'downloads',
  'usage_analytics_view',
  'usage_analytics_manage',
  'crashes_view',
  'crashes_manage',
  'funnels_view',
  'funnels_manage',
  'segments_view',
  'segments_manage',
  'sor_manage',
  'apps_manage',
  'api_keys_manage',
  'push_certificates_manage',
  'gdpr_data_manage',
];
const PASSWORD = 'correct horse battery staple';
const { store, server, world } = useServer({ world: { rights: ['sor_manage', 'funnels_view'], admin: false } });

/** A user of the world's entity, with a password. */
async function newUser(email: string, superadmin = false) {
  const user = await insertUser(store.db, {
    email,
    passwordHash: await hashPassword(PASSWORD),
    firstName: 'Ada',
    lastName: 'Byron',
    superadmin,
    preferedEntityId: world.entity.id,
  });
  await insertMembership(store.db, { userId: user.id, entityId: world.entity.id, rights: ['sor_manage'], admin: true });
  return user;
}

const login = (body: object) => server.call('POST', '/api/login', { body });

describe('a login', () => {
  test('answers with every member of the reference, and a token that acts', async () => {
    const user = await newUser('ada@example.com');
    const { status, body } = await login({ email: 'ADA@example.com', password: PASSWORD });
    expect(status).toBe(200);
    const { entity } = world;
    expect(body).toEqual({
      success: true,
      result: {
        auth_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        user: {
          id: user.id,
          uid: user.uid,
          first_name: 'Ada',
          last_name: 'Byron',
          full_name: 'Ada Byron',
          email: 'ada@example.com',
          entities: [
            {
              id: entity.id,
              name: entity.name,
              description: '',
              identifier: entity.identifier,
              active: true,
              qa_api_key: entity.qaApiKey,
              prod_api_key: entity.prodApiKey,
              data_retention_in_months: 25,
            },
          ],
          enable: Object.fromEntries(FLAGS.map((right) => [right, right === 'sor_manage'])),
          admin: true,
          superadmin: false,
          prefered_entity: { id: entity.id, name: entity.name },
        },
      },
    });
    const token = body.result.auth_token;
    expect((await server.call('GET', '/api/system_of_records', { token })).status).toBe(200);
    expect((await server.call('POST', '/api/logout', { token })).body).toEqual({ success: true });
    expect((await server.call('GET', '/api/system_of_records', { token })).status).toBe(401);
  });

  test('gives a superadmin every right', async () => {
    await newUser('root@example.com', true);
    const { body } = await login({ email: 'root@example.com', password: PASSWORD });
    expect(Object.values(body.result.user.enable)).toEqual(FLAGS.map(() => true));
  });

  test('gives a token that lives for 30 days beyond its last use', async () => {
    const user = await newUser('lasting@example.com');
    const {
      body: {
        result: { auth_token: token },
      },
    } = await login({ email: user.email, password: PASSWORD });
    const use = async () => (await server.call('GET', '/api/system_of_records', { token })).status;
    const livesFor = async () =>
      (
        await store.db.query<{ days: number }>(
          `SELECT extract(epoch FROM expires_at - now())::float8 / 86400 AS days FROM tokens WHERE user_id = $1`,
          [user.id],
        )
      ).rows[0]!.days;
    const later = (days: number) =>
      store.db.query(
        `UPDATE tokens SET used_at = used_at - make_interval(days => $2), expires_at = expires_at - make_interval(days => $2)
       WHERE user_id = $1`,
        [user.id, days],
      );
    expect(await livesFor()).toBeCloseTo(30, 1);
    await later(29);
    expect([await use(), Math.round(await livesFor())]).toEqual([200, 30]);
    await later(29);
    expect(await use()).toBe(200);
    await later(30);
    expect(await use()).toBe(401);
  });

  test.each([
    [{ email: 'a@example.com' }],
    [{ password: 'x' }],
    [{}],
    [{ email: '', password: 'x' }],
    [{ email: 5, password: 'x' }],
    [[]],
  ])('without a field is refused in the words of the reference: %j', async (sent) => {
    const { status, body } = await login(sent);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      success: false,
      status: 400,
      error_message: 'The request must contain the user email and password.',
    });
  });

  test('with a wrong password and one to an unknown account look the same, and take the same time', async () => {
    await newUser('timed@example.com');
    const took = async (email: string) => {
      const start = performance.now();
      const { status, body } = await login({ email, password: 'wrong' });
      expect([status, body.status, body.error_message]).toEqual([401, 'unauthorized', 'Invalid email or password']);
      return performance.now() - start;
    };
    const known: number[] = [];
    const unknown: number[] = [];
    for (let n = 0; n < 8; n += 1) {
      known.push(await took('timed@example.com'));
      unknown.push(await took(`nobody-${n}@example.com`));
    }
    // Without a hash to check it would take a tenth.
    expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...known) / 4);
  });

  test("chooses the entity by id or identifier, among the user's own", async () => {
    const user = await newUser('two@example.com');
    const second = await insertEntity(store.db, store.secrets, 'Second');
    await insertMembership(store.db, { userId: user.id, entityId: second.id, rights: ['crashes_view'], admin: false });
    for (const entity of [second.identifier, second.id]) {
      const { body } = await login({ email: user.email, password: PASSWORD, entity });
      expect(body.result.user.enable).toMatchObject({ crashes_view: true, sor_manage: false });
      expect(body.result.user.entities).toHaveLength(2);
    }
    const stranger = await insertEntity(store.db, store.secrets, 'Stranger');
    const refused = await login({ email: user.email, password: PASSWORD, entity: stranger.identifier });
    expect([refused.status, refused.body.error_message]).toEqual([404, 'Entity not found']);
  });

  test('after ten failures has to wait, even with the right password and however many come at once', async () => {
    await newUser('guessed@example.com');
    await newUser('other@example.com');
    const guess = { email: 'guessed@example.com', password: 'no' };
    const spelled = { ...guess, email: 'GUESSED@example.com' };
    const tries = await Promise.all(Array.from({ length: 14 }, (_, index) => login(index % 2 === 0 ? guess : spelled)));
    expect(tries.filter(({ status }) => status === 401)).toHaveLength(10);
    const refused = await login({ email: 'guessed@example.com', password: PASSWORD });
    expect([refused.status, refused.body.status]).toEqual([429, 'too_many_requests']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await login({ email: 'other@example.com', password: PASSWORD })).status).toBe(200);
  });

  test('after ten failures from one address still opens to the owner elsewhere, until there were a hundred', async () => {
    await newUser('owner@example.com');
    const from = async (remoteAddress: string, password: string) => {
      const payload = { email: 'owner@example.com', password };
      return (await server.app.inject({ method: 'POST', url: '/api/login', remoteAddress, payload })).statusCode;
    };
    for (let tries = 0; tries < 12; tries += 1) await from('2001:db8:1::1', 'no');
    expect(await from('2001:db8:1::2', PASSWORD), 'of the same network').toBe(429);
    expect(await from('192.0.2.1', PASSWORD)).toBe(200);
    await Promise.all(Array.from({ length: 110 }, (_, n) => from(`198.51.100.${n % 11}`, 'no')));
    expect(await from('192.0.2.1', PASSWORD)).toBe(429);
  });

  test('is written into the audit log, and nothing of the password into any log', async () => {
    const user = await newUser('audited@example.com');
    await login({ email: user.email, password: PASSWORD });
    const { rows } = await store.db.query('SELECT action, subject_kind, address FROM audit_log WHERE actor_id = $1', [
      user.id,
    ]);
    expect(rows).toEqual([{ action: 'login', subject_kind: 'session', address: '127.0.0.1' }]);
    expect(JSON.stringify(server.logs)).not.toContain(PASSWORD);
  });
});

test('failures from one address end in a wait for every account', async () => {
  const from = (n: number) =>
    server.app.inject({
      method: 'POST',
      url: '/api/login',
      remoteAddress: '10.9.8.7',
      payload: { email: `guess-${n}@example.com`, password: 'x' },
    });
  const replies = await Promise.all(Array.from({ length: 55 }, (_, n) => from(n)));
  expect(replies.filter(({ statusCode }) => statusCode === 401)).toHaveLength(50);
  expect(replies.filter(({ statusCode }) => statusCode === 429)).toHaveLength(5);
});
