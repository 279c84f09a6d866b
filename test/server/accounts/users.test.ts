import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Right } from '../../../domain/accounts/rights.ts';
import { hashPassword } from '../../../server/accounts/passwords.ts';
import { insertToken } from '../../../store/accounts/tokens.ts';
import { insertMembership, insertUser, updateUser, type User } from '../../../store/accounts/users.ts';
import { accountPost, type Post } from '../../harness/accounts/accounts.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { CallOptions } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const PASSWORD = 'a long password';

const { store, server, world } = useServer();
let passwordHash: string;
let post: Post;

beforeAll(async () => {
  passwordHash = await hashPassword(PASSWORD);
  post = await accountPost(store);
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
async function join(
  { entity }: World,
  { rights = [], admin = false, superadmin = false }: Standing = {},
): Promise<Colleague> {
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

/** Invites by the interface, and accepts by the link in the mail. */
async function inviteAndAccept(asked: { email: string; [member: string]: unknown }): Promise<void> {
  expect((await call('POST', '', { body: asked })).status).toBe(200);
  expect((await accept(await post.tokenFor(asked.email))).status).toBe(200);
}

const accept = (token: string, body: object = { password: PASSWORD }) =>
  server.call('POST', '/api/invitations/accept', { body: { token, ...body } });

/** As the admins of an entity see them. */
const findByEmail = async (email: string, token = world.token) => {
  const { result } = (await server.call('GET', '/api/users?per_page=100', { token })).body;
  return result.items.find((user: { email: string }) => user.email === email);
};

describe('users', () => {
  test('are invited, accept, log in, are viewed by id and uid, changed and removed', async () => {
    const email = newEmail();
    await inviteAndAccept({
      email,
      first_name: 'Ada',
      last_name: 'Byron',
      enable: { sor_manage: true, comments: 'false' },
    });
    const user = await findByEmail(email);
    expect(user).toMatchObject({
      id: expect.any(Number),
      uid: expect.stringMatching(/^usr_/),
      email,
      full_name: 'Ada Byron',
      admin: false,
      superadmin: false,
    });
    expect(Object.entries(user.enable).filter(([, isGiven]) => isGiven)).toEqual([['sor_manage', true]]);
    expect((await login(email)).body.result.user).toMatchObject({ id: user.id, uid: user.uid, enable: user.enable });
    expect((await call('GET', `/${user.id}`)).body.result).toEqual(user);
    expect((await call('GET', `/${user.uid}`)).body.result).toEqual(user);
    const changed = await call('PUT', `/${user.uid}`, {
      body: { last_name: 'Lovelace', enable: { comments: true }, admin: true },
    });
    expect(changed.body.result).toEqual({
      ...user,
      last_name: 'Lovelace',
      full_name: 'Ada Lovelace',
      admin: true,
      enable: { ...user.enable, comments: true },
    });
    expect((await call('DELETE', `/${user.id}`)).body).toEqual({ success: true });
    expect((await call('GET', `/${user.uid}`)).body).toMatchObject({
      status: 'not_found',
      error_message: 'User not found',
    });
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
      path =
        result.navigation.next && new URL(result.navigation.next).pathname + new URL(result.navigation.next).search;
    }
    const { rows } = await store.db.query('SELECT user_id FROM memberships WHERE entity_id = $1 ORDER BY user_id', [
      own.entity.id,
    ]);
    expect(seen).toEqual(rows.map(({ user_id: id }) => id));
  });

  test.each([
    [{ enable: { fly: true } }, 'enable.fly'],
    [{ enable: { sor_manage: 'perhaps' } }, 'enable.sor_manage'],
    [{ email: 'nobody' }, 'email'],
    [{ password: PASSWORD }, 'password', expect.stringContaining('with the mailed link')],
    [{ email: undefined }, 'email', 'is required'],
    [{ enable: ['comments'] }, 'enable', 'must be an object'],
  ])('are refused with what is wrong named: %j', async (wrong, element, message = expect.any(String)) => {
    const { status, body } = await call('POST', '', { body: { email: newEmail(), ...wrong } });
    expect([status, body.messages[0]]).toMatchObject([400, { element, message }]);
  });

  test('are given, and lose, only rights that the admin has, and may keep those they have', async () => {
    const own = await makeWorld(store, { rights: ['sor_manage'] });
    const as = (method: Method, path: string, body: object) =>
      server.call(method, `/api/users${path}`, { token: own.token, body });
    const { user } = await join(own, { rights: ['comments'] });
    expect((await as('PUT', `/${user.uid}`, { enable: { comments: true, sor_manage: true } })).status).toBe(200);
    const itself = await as('PUT', `/${own.user.uid}`, { enable: { gdpr_data_manage: true } });
    expect([itself.status, itself.body.error_message]).toEqual([403, expect.stringContaining('gdpr_data_manage')]);
    expect((await as('POST', '', { email: newEmail(), enable: { downloads: true } })).status).toBe(403);
    const taken = await as('PUT', `/${user.uid}`, { enable: { comments: false } });
    expect([taken.status, taken.body.error_message]).toEqual([
      403,
      'Only an admin who has the right comments can take it',
    ]);
    expect((await as('PUT', `/${user.uid}`, { enable: { sor_manage: false } })).status).toBe(200);
    // To remove somebody takes all their rights.
    const remove = () => call('DELETE', `/${user.uid}`, { token: own.token });
    expect((await remove()).body.error_message).toContain('right comments');
    expect(
      (await join(own, { superadmin: true }).then(({ token }) => call('DELETE', `/${user.uid}`, { token }))).status,
    ).toBe(200);
  });

  test('that exist elsewhere join by their own password, and nothing is told or taken from there', async () => {
    const other = await makeWorld(store);
    const { user } = await join(other, { rights: ['crashes_view'], admin: true });
    await call('POST', '', { body: { email: user.email.toUpperCase(), first_name: 'Eve' } });
    const token = await post.tokenFor(user.email.toUpperCase());
    // The link alone gives nothing: a scanner of mails has it, too.
    const wrong = await accept(token, { password: 'another password' });
    expect([wrong.status, wrong.body.error_message]).toEqual([
      401,
      'password: is not that of the account with this e-mail address',
    ]);
    expect(await findByEmail(user.email)).toBeUndefined();
    expect((await accept(token, { password: PASSWORD, first_name: 'Eve' })).body.result).toEqual({
      email: user.email.toUpperCase(),
      entity: { name: world.entity.name },
    });
    const added = await findByEmail(user.email);
    expect(added).toMatchObject({ uid: user.uid, admin: false, first_name: '' });
    expect(Object.values(added.enable)).not.toContain(true);
    expect((await login(user.email, PASSWORD, other.entity.identifier)).body.result.user.enable.crashes_view).toBe(
      true,
    );
    for (const body of [{ email: newEmail() }, { first_name: 'Eve' }]) {
      expect((await call('PUT', `/${user.uid}`, { body })).status).toBe(403);
    }
    const elsewhere = await session(user, other.entity.id);
    expect((await call('PUT', `/${user.uid}`, { body: { enable: { comments: true } } })).status).toBe(200);
    expect((await call('DELETE', `/${user.uid}`)).status).toBe(200);
    expect(await acts(elsewhere)).toBe(403); // still a session there, without that right
    expect((await login(user.email, PASSWORD)).status).toBe(200);
    const twice = await server.call('POST', '/api/users', { token: other.token, body: { email: user.email } });
    expect([twice.status, twice.body.messages[0].element]).toEqual([400, 'email']);
  });

  test('are made once, however often they are invited and accept at once', async () => {
    const email = newEmail();
    const replies = await Promise.all(Array.from({ length: 5 }, () => call('POST', '', { body: { email } })));
    expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 400, 400, 400, 400,
    ]);
    const token = await post.tokenFor(email);
    const accepted = await Promise.all(Array.from({ length: 3 }, () => accept(token)));
    expect(
      accepted
        .map(({ status }) => status)
        .toSorted((one, other) => one - other)
        .slice(0, 2),
    ).toEqual([200, expect.any(Number)]);
    expect(accepted.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await store.db.query('SELECT FROM users WHERE email = $1', [email])).rowCount).toBe(1);
  });

  test('of two entities who accept both invitations at once get one account', async () => {
    const [email, other] = [newEmail(), await makeWorld(store)];
    await call('POST', '', { body: { email } });
    await call('POST', '', { token: other.token, body: { email } });
    const tokens = (await post.deliver()).map(({ token }) => token);
    const statuses = (await Promise.all(tokens.map((token) => accept(token)))).map(({ status }) => status);
    expect(statuses).toContain(200);
    expect([200, 409]).toContain(statuses.find((status) => status !== 200) ?? 200);
    expect((await store.db.query('SELECT FROM users WHERE email = $1', [email])).rowCount).toBe(1);
  });
});

describe('an admin', () => {
  test('cannot set the password of a colleague with more rights, and so never logs in as him', async () => {
    const own = await makeWorld(store, { rights: ['sor_manage'] });
    const { user } = await join(own, { rights: ['sor_manage', 'gdpr_data_manage'], admin: true });
    const reply = await call('PUT', `/${user.uid}`, {
      token: own.token,
      body: { password: 'the password of the admin' },
    });
    expect((await login(user.email, 'the password of the admin')).status).toBe(401);
    expect([reply.status, reply.body.messages?.[0]]).toMatchObject([
      400,
      { element: 'password', message: expect.stringMatching(/reset/) },
    ]);
    expect((await login(user.email)).status).toBe(200);
  });

  test('neither adds an account that exists, nor learns anything of it', async () => {
    const other = await makeWorld(store);
    const { user } = await join(other);
    await updateUser(store.db, user.id, { firstName: 'Grace', lastName: 'Hopper' });
    const invite = (email: string) => call('POST', '', { body: { email } });
    const [known, unknown] = [await invite(user.email), await invite(newEmail())];
    expect([known.status, known.status]).toEqual([200, unknown.status]);
    for (const told of ['Grace', 'Hopper', user.uid]) expect(known.text).not.toContain(told);
    expect(Object.keys(known.body.result)).toEqual(Object.keys(unknown.body.result));
    expect((await call('GET', `/${user.uid}`)).status).toBe(404);
  });
});

describe('superadmins', () => {
  test('are made and unmade by superadmins alone', async () => {
    const { user } = await join(world);
    expect((await call('POST', '', { body: { email: newEmail(), superadmin: true } })).status).toBe(403);
    expect((await call('PUT', `/${user.uid}`, { body: { superadmin: true } })).status).toBe(403);
    const { token } = await join(world, { superadmin: true });
    expect((await call('PUT', `/${user.uid}`, { token, body: { superadmin: true } })).body.result.superadmin).toBe(
      true,
    );
    for (const [method, body] of [
      ['PUT', { superadmin: false }],
      ['PUT', { first_name: 'Eve' }],
      ['DELETE', undefined],
    ] as const) {
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

const confirm = (token: string, password: string) =>
  server.call('POST', '/api/password_resets/confirm', { body: { token, password } });

/** Of a link that an admin has mailed. */
async function resetTokenOf({ uid, email }: User): Promise<string> {
  expect((await call('POST', `/${uid}/password_reset`)).body).toEqual({ success: true });
  return post.tokenFor(email);
}

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
    expect((await confirm(await resetTokenOf(user), 'a newer password')).status).toBe(200);
    expect([await acts(token), await acts(second)]).toEqual([401, 401]);
    expect((await login(user.email)).status).toBe(401);
    expect((await login(user.email, 'a newer password')).status).toBe(200);
  });

  test('that are being made while the password changes are refused, or end with the others', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { user } = await join(world, { rights: ['sor_manage'] });
      const reset = await resetTokenOf(user);
      const [{ status, body }] = await Promise.all([login(user.email), confirm(reset, 'a newer password')]);
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
    const change = (password: string) =>
      call('PUT', '/me/password', { token, body: { password, new_password: 'a newer password' } });
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
  const { identifier } = (await as('POST', '', { email, enable: { sor_manage: true } })).body.result;
  await server.call('POST', `/api/invitations/${identifier}/send`, { token: own.token });
  await accept(await post.tokenFor(email));
  const { uid, id } = await findByEmail(email, own.token);
  await as('PUT', `/${uid}`, { first_name: 'Ada', enable: { sor_manage: false, comments: true } });
  await as('POST', `/${uid}/password_reset`);
  await confirm(await post.tokenFor(email), 'a newer password');
  await server.call('POST', '/api/password_resets', { body: { email } });
  await post.deliver();
  await as('DELETE', `/${uid}`);
  const withdrawn = (await as('POST', '', { email })).body.result.identifier;
  await server.call('DELETE', `/api/invitations/${withdrawn}`, { token: own.token });
  const { rows } = await store.db.query(
    'SELECT actor_kind, actor_id, action, subject_kind, subject, details FROM audit_log WHERE entity_id = $1 ORDER BY id',
    [own.entity.id],
  );
  const [admin, person, system] = [
    ['user', own.user.id],
    ['user', id],
    ['system', null],
  ];
  expect(rows.map((row) => [[row.actor_kind, row.actor_id], row.action, row.subject_kind, row.subject])).toEqual([
    [admin, 'create', 'invitation', identifier],
    [admin, 'update', 'invitation', identifier],
    [person, 'accept', 'invitation', identifier],
    [admin, 'update', 'user', uid],
    [admin, 'create', 'password_reset', uid],
    [person, 'accept', 'password_reset', uid],
    [system, 'create', 'password_reset', uid],
    [admin, 'delete', 'user', uid],
    [admin, 'create', 'invitation', withdrawn],
    [admin, 'delete', 'invitation', withdrawn],
  ]);
  expect(rows[3].details).toMatchObject({ changed: 'first_name enable', given: 'comments', taken: 'sor_manage' });
  for (const secret of [email, 'Ada', PASSWORD, 'a newer password']) expect(JSON.stringify(rows)).not.toContain(secret);
});
