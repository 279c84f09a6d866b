import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { insertToken } from '../../store/tokens.ts';
import { insertMembership, insertUser, type User } from '../../store/users.ts';
import type { Right } from '../../domain/rights.ts';
import { hashPassword } from '../../server/passwords.ts';
import { rememberSecret } from '../harness/people.ts';
import { makeWorld, type World } from '../harness/world.ts';
import type { CallOptions } from './test-server.ts';
import { useServer } from './use-server.ts';

const PASSWORD = 'a long password';

const { store, server, world } = useServer();
let passwordHash: string;

beforeAll(async () => {
  passwordHash = await hashPassword(PASSWORD);
});

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
const call = (method: Method, path = '', options: CallOptions = {}) =>
  server.call(method, `/api/users${path}`, { token: world.token, ...options });
const login = (email: string, password = PASSWORD, entity?: string) =>
  server.call('POST', '/api/login', { body: { email, password, ...(entity ? { entity } : {}) } });
const newEmail = () => `${randomBytes(6).toString('hex')}@example.com`;

type Page = { items: { id: number }[]; navigation: { next: string | null } };
type Colleague = { user: User; token: string };

type Standing = { rights?: Right[]; admin?: boolean; superadmin?: boolean };

/** A user of an entity, by the store's own functions, with a session there. */
async function join({ entity }: World, { rights = [], admin = false, superadmin = false }: Standing = {}): Promise<Colleague> {
  const user = await insertUser(store.db, { email: newEmail(), passwordHash, superadmin, preferedEntityId: entity.id });
  await insertMembership(store.db, { userId: user.id, entityId: entity.id, rights, admin });
  return { user, token: await session(user, entity.id) };
}

async function session(user: User, entityId: number): Promise<string> {
  const token = await insertToken(store.db, user.id, entityId, 1);
  rememberSecret(token);
  return token;
}

const acts = async (token: string) => (await server.call('GET', '/api/system_of_records', { token })).status;

describe('users', () => {
  test('are created, logged in, viewed by id and uid, changed and removed', async () => {
    const email = newEmail();
    const created = await call('POST', '', {
      body: { email, password: PASSWORD, first_name: 'Ada', last_name: 'Byron', enable: { sor_manage: true, comments: 'false' } },
    });
    expect(created.status).toBe(200);
    const user = created.body.result;
    expect(user).toMatchObject({
      id: expect.any(Number), uid: expect.stringMatching(/^usr_/), email, full_name: 'Ada Byron', admin: false, superadmin: false,
    });
    expect(Object.entries(user.enable).filter(([, isGiven]) => isGiven)).toEqual([['sor_manage', true]]);
    expect((await login(email)).body.result.user).toMatchObject({ id: user.id, uid: user.uid, enable: user.enable });
    expect((await call('GET', `/${user.id}`)).body.result).toEqual(user);
    expect((await call('GET', `/${user.uid}`)).body.result).toEqual(user);
    const changed = await call('PUT', `/${user.uid}`, { body: { last_name: 'Lovelace', enable: { comments: true }, admin: true } });
    expect(changed.body.result).toEqual({
      ...user, last_name: 'Lovelace', full_name: 'Ada Lovelace', admin: true, enable: { ...user.enable, comments: true },
    });
    expect((await call('DELETE', `/${user.id}`)).body).toEqual({ success: true });
    expect((await call('GET', `/${user.uid}`)).body).toMatchObject({ status: 'not_found', error_message: 'User not found' });
    expect((await login(email)).status).toBe(401);
  });

  test('are listed in pages, those of the own entity alone', async () => {
    const own = await makeWorld(store);
    for (let n = 0; n < 4; n += 1) await join(own);
    await join(await makeWorld(store));
    const seen: number[] = [];
    let path: string | null = '/api/users?per_page=2';
    while (path) {
      const { result }: { result: Page } = (await server.call('GET', path, { token: own.token })).body;
      expect(result).toMatchObject({ total_items: 5, total_pages: 3 });
      seen.push(...result.items.map(({ id }) => id));
      path = result.navigation.next && new URL(result.navigation.next).pathname + new URL(result.navigation.next).search;
    }
    const { rows } = await store.db.query('SELECT user_id FROM memberships WHERE entity_id = $1 ORDER BY user_id', [own.entity.id]);
    expect(seen).toEqual(rows.map(({ user_id: id }) => id));
  });

  test.each([
    [{ enable: { fly: true } }, 'enable.fly'], [{ enable: { sor_manage: 'perhaps' } }, 'enable.sor_manage'],
    [{ email: 'nobody' }, 'email'], [{ password: '1234567' }, 'password'],
    [{ email: undefined }, 'email', 'is required'], [{ enable: ['comments'] }, 'enable', 'must be an object'],
  ])('are refused with what is wrong named: %j', async (wrong, element, message = expect.any(String)) => {
    const { status, body } = await call('POST', '', { body: { email: newEmail(), password: PASSWORD, ...wrong } });
    expect([status, body.messages[0]]).toMatchObject([400, { element, message }]);
  });

  test('are given only rights that the admin has, and may keep those they have', async () => {
    const own = await makeWorld(store, { rights: ['sor_manage'] });
    const as = (method: Method, path: string, body: object) => server.call(method, `/api/users${path}`, { token: own.token, body });
    const { user } = await join(own, { rights: ['comments'] });
    expect((await as('PUT', `/${user.uid}`, { enable: { comments: true, sor_manage: true } })).status).toBe(200);
    const itself = await as('PUT', `/${own.user.uid}`, { enable: { gdpr_data_manage: true } });
    expect([itself.status, itself.body.error_message]).toEqual([403, expect.stringContaining('gdpr_data_manage')]);
    const body = { email: newEmail(), password: PASSWORD, enable: { downloads: true } };
    expect((await as('POST', '', body)).status).toBe(403);
  });

  test('that exist elsewhere are only added, and nothing is told or taken from there', async () => {
    const other = await makeWorld(store);
    const { user } = await join(other, { rights: ['crashes_view'], admin: true });
    const added = await call('POST', '', { body: { email: user.email.toUpperCase(), password: 'another password', first_name: 'Eve' } });
    expect(added.status).toBe(200);
    expect(JSON.stringify(added.body)).not.toContain(other.entity.identifier);
    expect(added.body.result).toMatchObject({ uid: user.uid, admin: false, first_name: '' });
    expect(Object.values(added.body.result.enable)).not.toContain(true);
    expect((await login(user.email, 'another password')).status).toBe(401);
    expect((await login(user.email, PASSWORD, other.entity.identifier)).body.result.user.enable.crashes_view).toBe(true);
    // Whoever could set the password could be the user in the other entity.
    for (const body of [{ password: 'another password' }, { email: newEmail() }, { first_name: 'Eve' }]) {
      expect((await call('PUT', `/${user.uid}`, { body })).status).toBe(403);
    }
    const elsewhere = await session(user, other.entity.id);
    expect((await call('PUT', `/${user.uid}`, { body: { enable: { comments: true } } })).status).toBe(200);
    expect((await call('DELETE', `/${user.uid}`)).status).toBe(200);
    expect(await acts(elsewhere)).toBe(403);              // still a session there, without that right
    expect((await login(user.email, PASSWORD)).status).toBe(200);
    const twice = await server.call('POST', '/api/users', { token: other.token, body: { email: user.email, password: PASSWORD } });
    expect([twice.status, twice.body.messages[0].element]).toEqual([400, 'email']);
  });

  test('are made once, however many are made at once', async () => {
    const body = { email: newEmail(), password: PASSWORD };
    const replies = await Promise.all(Array.from({ length: 5 }, () => call('POST', '', { body })));
    expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400, 400, 400, 400]);
    expect((await store.db.query('SELECT FROM users WHERE email = $1', [body.email])).rowCount).toBe(1);
  });
});

describe('superadmins', () => {
  test('are made and unmade by superadmins alone', async () => {
    const { user } = await join(world);
    expect((await call('POST', '', { body: { email: newEmail(), password: PASSWORD, superadmin: true } })).status).toBe(403);
    expect((await call('PUT', `/${user.uid}`, { body: { superadmin: true } })).status).toBe(403);
    const { token } = await join(world, { superadmin: true });
    expect((await call('PUT', `/${user.uid}`, { token, body: { superadmin: true } })).body.result.superadmin).toBe(true);
    for (const [method, body] of [['PUT', { superadmin: false }], ['PUT', { password: PASSWORD }], ['DELETE', undefined]] as const) {
      expect((await call(method, `/${user.uid}`, body ? { body } : {})).status).toBe(403);
    }
    expect((await call('PUT', `/${user.uid}`, { token, body: { superadmin: false } })).status).toBe(200);
  });

  test('never all go, even when two remove each other at once', async () => {
    await store.db.query('UPDATE users SET superadmin = false');
    const [first, second] = [await makeWorld(store), await makeWorld(store)];
    const [one, other] = [await join(first, { superadmin: true }), await join(second, { superadmin: true })];
    await insertMembership(store.db, { userId: other.user.id, entityId: first.entity.id, rights: [], admin: false });
    await insertMembership(store.db, { userId: one.user.id, entityId: second.entity.id, rights: [], admin: false });
    const unmake = (token: string, { uid }: User) => call('PUT', `/${uid}`, { token, body: { superadmin: false } });
    const replies = await Promise.all([unmake(one.token, other.user), unmake(other.token, one.user)]);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await store.db.query('SELECT FROM users WHERE superadmin')).rowCount).toBe(1);
  });
});

describe('the last admin', () => {
  test('stays one, and nobody removes themselves', async () => {
    const own = await makeWorld(store);
    const as = (method: Method, body?: object) =>
      server.call(method, `/api/users/${own.user.uid}`, { token: own.token, ...(body ? { body } : {}) });
    expect((await as('DELETE')).body.error_message).toContain('cannot remove yourself');
    expect((await as('PUT', { admin: false })).body.error_message).toContain('last admin');
    const { token } = await join(own, { superadmin: true });
    const removed = await server.call('DELETE', `/api/users/${own.user.uid}`, { token });
    expect([removed.status, removed.body.error_message]).toEqual([400, expect.stringContaining('last admin')]);
    await join(own, { admin: true });
    expect((await as('PUT', { admin: false })).status).toBe(200);
    expect((await as('PUT', { admin: true })).status).toBe(403);
  });

  test('remains when two admins remove each other at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const own = await makeWorld(store);
      const { user, token } = await join(own, { admin: true });
      const replies = await Promise.all([
        server.call('DELETE', `/api/users/${user.uid}`, { token: own.token }),
        server.call('DELETE', `/api/users/${own.user.uid}`, { token }),
      ]);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });
});

describe('sessions', () => {
  test('end with a new password, in every entity', async () => {
    const { user, token } = await join(world, { rights: ['sor_manage'] });
    const second = await session(user, world.entity.id);
    expect((await call('PUT', `/${user.uid}`, { body: { password: 'a newer password' } })).status).toBe(200);
    expect([await acts(token), await acts(second)]).toEqual([401, 401]);
    expect((await login(user.email)).status).toBe(401);
    expect((await login(user.email, 'a newer password')).status).toBe(200);
  });

  test('that are being made while the password changes are refused, or end with the others', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { user } = await join(world, { rights: ['sor_manage'] });
      const [{ status, body }] = await Promise.all([
        login(user.email), call('PUT', `/${user.uid}`, { body: { password: 'a newer password' } }),
      ]);
      if (status === 200) expect(await acts(body.result.auth_token)).toBe(401);
      else expect(status).toBe(401);
    }
  });

  test('follow the rights at once, and end with the membership', async () => {
    const { user, token } = await join(world, { rights: ['sor_manage'] });
    expect(await acts(token)).toBe(200);
    await call('PUT', `/${user.uid}`, { body: { enable: { sor_manage: false } } });
    expect(await acts(token)).toBe(403);
    await call('PUT', `/${user.uid}`, { body: { enable: { sor_manage: true } } });
    expect(await acts(token)).toBe(200);
    await call('DELETE', `/${user.uid}`);
    expect(await acts(token)).toBe(401);
  });

  test('of others end when a user changes the own password, which takes the one in force', async () => {
    const { user, token } = await join(world, { rights: ['sor_manage'] });
    const another = await session(user, world.entity.id);
    const change = (password: string) => call('PUT', '/me/password', { token, body: { password, new_password: 'a newer password' } });
    const refused = await change('a wrong password');
    expect([refused.status, refused.body.error_message]).toEqual([401, 'password: is not the one in force']);
    expect((await change(PASSWORD)).body).toEqual({ success: true });
    expect([await acts(token), await acts(another)]).toEqual([200, 401]);
    expect((await login(user.email, 'a newer password')).status).toBe(200);
  });
});

test('every change of a user is in the audit log, without names, addresses or passwords', async () => {
  const own = await makeWorld(store);
  const as = (method: Method, path: string, body?: object) =>
    server.call(method, `/api/users${path}`, { token: own.token, ...(body ? { body } : {}) });
  const email = newEmail();
  const { uid } = (await as('POST', '', { email, password: PASSWORD, enable: { sor_manage: true } })).body.result;
  await as('PUT', `/${uid}`, { first_name: 'Ada', password: 'a newer password', enable: { sor_manage: false, comments: true } });
  await as('DELETE', `/${uid}`);
  const { rows } = await store.db.query(
    'SELECT action, subject, details FROM audit_log WHERE entity_id = $1 AND actor_id = $2 ORDER BY id', [own.entity.id, own.user.id]);
  expect(rows.map(({ action, subject }) => [action, subject])).toEqual([['create', uid], ['update', uid], ['delete', uid]]);
  expect(rows[1].details).toMatchObject({ changed: 'password first_name enable', given: 'comments', taken: 'sor_manage' });
  for (const secret of [email, 'Ada', PASSWORD, 'a newer password']) expect(JSON.stringify(rows)).not.toContain(secret);
});

test('a repeat under an Idempotency-Key keeps nothing of the password', async () => {
  const body = { email: newEmail(), password: PASSWORD };
  const headers = { 'idempotency-key': 'user' };
  const first = await call('POST', '', { body, headers });
  const repeat = await call('POST', '', { body: { ...body, password: 'another password' }, headers });
  expect([repeat.text, repeat.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
  const { rows } = await store.db.query('SELECT reply FROM idempotent_requests WHERE entity_id = $1', [world.entity.id]);
  expect(JSON.stringify(rows)).not.toContain(PASSWORD);
});
