import { expect, test } from 'vitest';
import { hashPassword } from '../../../server/accounts/passwords.ts';
import { insertEntity } from '../../../store/accounts/entities.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { OF_CONSOLE } from '../http/samples.ts';
import type { CallOptions } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const PASSWORD = 'correct horse battery staple';
const TEMPORAL_UI = 'https://temporal.example.com/namespaces/millrace/workflows';
const { store, server, world } = useServer({ server: { settings: { temporalUi: TEMPORAL_UI } } });

/** A user of the world's entity and of a second one, logged in to the console. */
async function logIn(email: string) {
  const user = await insertUser(store.db, {
    email,
    passwordHash: await hashPassword(PASSWORD),
    firstName: 'Ada',
    lastName: 'Byron',
    preferedEntityId: world.entity.id,
  });
  const second = await insertEntity(store.db, store.secrets, `Second of ${email}`);
  await insertMembership(store.db, { userId: user.id, entityId: world.entity.id, rights: ['sor_manage'], admin: true });
  await insertMembership(store.db, { userId: user.id, entityId: second.id, rights: ['crashes_view'], admin: false });
  const opened = await server.call('POST', '/api/session', {
    body: { email, password: PASSWORD },
    headers: OF_CONSOLE,
  });
  const cookie = cookieOf(opened.headers);
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, { headers, ...options }: CallOptions = {}) =>
    server.call(method, url, { ...options, headers: { ...OF_CONSOLE, cookie, ...headers } });
  return { user, second, opened, cookie, call };
}

const cookieOf = (headers: Record<string, unknown>) => String(headers['set-cookie']).split(';')[0]!;
const SORS = '/api/system_of_records';
const moved = (userId: number, time: string) =>
  store.db.query(
    `UPDATE tokens SET used_at = used_at - $2::interval, expires_at = expires_at - $2::interval,
     ends_at = ends_at - $2::interval WHERE user_id = $1`,
    [userId, time],
  );

test('a session shows user, entities and rights, and no key; its cookie is kept from scripts and other sites', async () => {
  const { opened, call, user, second } = await logIn('ada@example.com');
  const entity = { id: world.entity.id, identifier: world.entity.identifier, name: world.entity.name };
  expect(opened.body).toEqual({
    success: true,
    result: {
      user: { uid: user.uid, email: 'ada@example.com', full_name: 'Ada Byron' },
      entity,
      entities: [entity, { id: second.id, identifier: second.identifier, name: second.name }],
      enable: expect.objectContaining({ sor_manage: true, crashes_view: false }),
      admin: true,
      superadmin: false,
      now: expect.any(String),
      idle_at: expect.any(String),
      ends_at: expect.any(String),
      temporal_ui: null,
    },
  });
  expect(opened.headers['set-cookie']).toMatch(
    /^__Host-millrace=[A-Za-z0-9_-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
  );
  expect((await call('GET', '/api/session')).body.result).toMatchObject({ entity, user: { uid: user.uid } });
  expect((await call('GET', SORS)).status).toBe(200);
  await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [user.id]);
  expect((await call('GET', '/api/session')).body.result.temporal_ui).toBe(TEMPORAL_UI);
});

test('a cookie counts for scripts of the same origin alone', async () => {
  const { call, cookie } = await logIn('origin@example.com');
  const create = (headers: Record<string, string>) => server.call('POST', SORS, { body: { name: 'X' }, headers });
  expect((await call('POST', SORS, { body: { name: 'Mine' } })).status).toBe(200);
  for (const site of ['cross-site', 'same-site', 'none'])
    expect([site, (await create({ ...OF_CONSOLE, cookie, 'sec-fetch-site': site })).status]).toEqual([site, 401]);
  expect((await create({ cookie, 'sec-fetch-site': 'same-origin' })).status, 'a form').toBe(401);
  expect((await server.call('GET', SORS, { headers: { cookie } })).status, 'no browser').toBe(401);
  const token = cookie.split('=')[1]!;
  expect((await server.call('GET', SORS, { token })).status, 'as a token').toBe(401);
  const asCookie = `__Host-millrace=${world.token}`;
  expect((await call('GET', SORS, { headers: { cookie: asCookie } })).status, 'a token as a cookie').toBe(401);
  const body = { email: 'origin@example.com', password: PASSWORD };
  const foreign = await server.call('POST', '/api/session', { body });
  expect([foreign.status, foreign.body.error_message]).toEqual([
    403,
    'Only pages of this server, over HTTPS, open a session: use POST /api/login to get a token',
  ]);
});

test('a session ends after 30 minutes without a use, to which polls do not count, and after 12 hours', async () => {
  const { call, user } = await logIn('idle@example.com');
  await moved(user.id, '29 minutes');
  expect((await call('GET', SORS, { headers: { 'x-millrace-background': '1' } })).status).toBe(200);
  await moved(user.id, '59 seconds');
  expect((await call('GET', '/api/session')).status).toBe(200);
  await moved(user.id, '29 minutes');
  expect((await call('GET', SORS, { headers: { 'x-millrace-background': '1' } })).status).toBe(200);
  await moved(user.id, '1 minute');
  expect((await call('GET', SORS)).status).toBe(401);

  const busy = await logIn('busy@example.com');
  for (let hours = 0; hours < 11.5; hours += 0.5) {
    await moved(busy.user.id, '29 minutes 59 seconds');
    expect((await busy.call('GET', SORS)).status).toBe(200);
  }
  const { idle_at, ends_at } = (await busy.call('GET', '/api/session')).body.result;
  expect([idle_at <= ends_at, Date.parse(ends_at) - Date.now() < 32 * 60_000]).toEqual([true, true]);
  await moved(busy.user.id, '29 minutes 59 seconds');
  expect((await busy.call('GET', SORS)).status).toBe(200);
  await moved(busy.user.id, '1 minute');
  expect((await busy.call('GET', SORS)).status).toBe(401);
});

test('after a switch to another entity, a tab that shows the first one gets 409', async () => {
  const { call, second, user } = await logIn('switch@example.com');
  const { body, status } = await call('PUT', '/api/session', { body: { entity: second.identifier } });
  expect([status, body.result.entity.identifier, body.result.admin]).toEqual([200, second.identifier, false]);
  expect(body.result.enable).toMatchObject({ crashes_view: true, sor_manage: false });
  const old = await call('GET', '/api/attention', { headers: { 'x-millrace-entity': world.entity.identifier } });
  expect([old.status, old.body.status]).toEqual([409, 'other_entity']);
  const about = await call('GET', '/api/session', { headers: { 'x-millrace-entity': world.entity.identifier } });
  expect(about.body.result.entity.identifier).toBe(second.identifier);
  const own = await call('GET', '/api/attention', { headers: { 'x-millrace-entity': second.identifier } });
  expect(own.status).toBe(200);
  const stranger = await insertEntity(store.db, store.secrets, 'Stranger');
  expect((await call('PUT', '/api/session', { body: { entity: stranger.identifier } })).status).toBe(404);
  await store.db.query('UPDATE memberships SET rights = $2 WHERE user_id = $1', [user.id, ['sor_manage']]);
  expect((await call('GET', SORS)).status).toBe(200);
});

test('a logout ends the session, and drops the cookie', async () => {
  const { call } = await logIn('end@example.com');
  const { headers, body } = await call('DELETE', '/api/session');
  expect([body, headers['set-cookie']]).toEqual([
    { success: true },
    '__Host-millrace=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict',
  ]);
  expect((await call('GET', SORS)).status).toBe(401);
});
