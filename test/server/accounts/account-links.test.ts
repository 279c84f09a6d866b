import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import type { Right } from '../../../domain/accounts/rights.ts';
import { countAttempt, hashPassword } from '../../../server/accounts/passwords.ts';
import { deleteExpiredAccountLinks } from '../../../store/accounts/account-links-across-entities.ts';
import { deleteFailures } from '../../../store/accounts/login-attempts.ts';
import { updateMembership } from '../../../store/accounts/members.ts';
import { insertToken } from '../../../store/accounts/tokens.ts';
import { insertMembership, insertUser, updateUser, type User } from '../../../store/accounts/users.ts';
import { tokenHash } from '../../../store/core/secrets.ts';
import { accountPost, type Post } from '../../harness/accounts/accounts.ts';
import { smtpServer } from '../../harness/core/smtp.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { CallOptions } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';

/** Invitations and links that set a password: what they give, and what they never give. */

const PASSWORD = 'a long password';
const LINK_REFUSED = 'This link leads to nothing, or no longer: it works once, for 24 hours. Ask for a new one.';

const { store, server, world } = useServer();
let post: Post;
let passwordHash: string;

beforeAll(async () => {
  post = await accountPost(store);
  passwordHash = await hashPassword(PASSWORD);
});

/** Each test as from an address of its own. */
beforeEach(async () => {
  await store.db.query('DELETE FROM login_attempts');
});

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
const call = (method: Method, path: string, body?: object, token = world.token) =>
  server.call(method, `/api${path}`, { token, ...(body ? { body } : {}) });
const open = (path: string, body: object) => server.call('POST', `/api${path}`, { body });
const newEmail = () => `${randomBytes(6).toString('hex')}@example.com`;
const login = (email: string, password = PASSWORD) => open('/login', { email, password });
const accept = (token: string, password = PASSWORD) => open('/invitations/accept', { token, password });
const confirm = (token: string, password = 'a newer password') => open('/password_resets/confirm', { token, password });

async function invite(
  email = newEmail(),
  asked: object = {},
  token = world.token,
): Promise<{ email: string; identifier: string }> {
  const { status, body } = await call('POST', '/users', { email, ...asked }, token);
  expect(status).toBe(200);
  return body.result;
}

async function join(
  { entity }: World,
  { rights = [], admin = false }: { rights?: Right[]; admin?: boolean } = {},
): Promise<User> {
  const user = await insertUser(store.db, { email: newEmail(), passwordHash, preferedEntityId: entity.id });
  await insertMembership(store.db, { userId: user.id, entityId: entity.id, rights, admin });
  return user;
}

const isMember = async (email: string, { entity }: World = world) =>
  (
    await store.db.query(
      'SELECT FROM memberships m JOIN users u ON u.id = m.user_id WHERE u.email = $1 AND m.entity_id = $2',
      [email, entity.id],
    )
  ).rowCount === 1;

describe('an invitation', () => {
  test('is a mail of our own words with a link, and gives nothing before it is accepted, once', async () => {
    const words = { first_name: 'Buy http://cheap.example now', last_name: 'Byron' };
    const { email, identifier } = await invite(newEmail(), words);
    const [mail] = await post.deliver();
    expect(mail).toMatchObject({ to: email, subject: `Invitation to ${world.entity.name} on Millrace` });
    expect(mail!.link).toMatch(/^http:\/\/millrace\.test\/invite\/[A-Za-z0-9_-]{43}$/);
    expect(mail!.text).not.toMatch(/cheap|Byron/);
    // So it is sent as it is, and a file of the outbox shows a whole link.
    expect(Math.max(...mail!.text.split('\n').map((line) => line.length))).toBeLessThan(76);
    expect(await post.deliver()).toEqual([]);
    expect([await isMember(email), (await login(email)).status]).toEqual([false, 401]);
    expect((await accept(mail!.token, 'short')).body.messages).toMatchObject([{ element: 'password' }]);
    expect((await accept(mail!.link)).body.result).toEqual({ email, entity: { name: world.entity.name } });
    expect([await isMember(email), (await login(email)).status]).toEqual([true, 200]);
    expect((await accept(mail!.token)).body).toMatchObject({ status: 'not_found', error_message: LINK_REFUSED });
    expect((await call('POST', `/invitations/${identifier}/send`)).status).toBe(404);
  });

  test('is listed while it is open, mailed again by a new link, and withdrawn', async () => {
    const own = await makeWorld(store);
    const { email, identifier } = await invite(newEmail(), { enable: { sor_manage: true } }, own.token);
    const listed = async () => (await call('GET', '/invitations', undefined, own.token)).body.result;
    expect(await listed()).toMatchObject({
      total_items: 1,
      items: [{ identifier, email, admin: false, invited_by: own.user.id, mail: { state: 'waiting', reason: null } }],
    });
    const first = await post.tokenFor(email);
    expect((await listed()).items[0].mail.state).toBe('filed');
    const again = await call('POST', '/users', { email: email.toUpperCase() }, own.token);
    expect([again.status, again.body.error_message]).toEqual([400, expect.stringContaining('is invited already')]);
    expect((await call('POST', `/invitations/${identifier}/send`, undefined, own.token)).body.result.identifier).toBe(
      identifier,
    );
    const second = await post.tokenFor(email);
    expect((await accept(first)).body.error_message).toBe(LINK_REFUSED);
    expect((await call('DELETE', `/invitations/${identifier}`)).status).toBe(404); // of another entity
    expect((await call('DELETE', `/invitations/${identifier}`, undefined, own.token)).body).toEqual({ success: true });
    expect((await accept(second)).body.error_message).toBe(LINK_REFUSED);
    expect(await listed()).toMatchObject({ total_items: 0, items: [] });
  });

  test('is over after a day, and for an unknown link, an expired one and one into an inactive entity there is one answer', async () => {
    const own = await makeWorld(store);
    const { email, identifier } = await invite(newEmail(), {}, own.token);
    const token = await post.tokenFor(email);
    await store.db.query('UPDATE entities SET active = false WHERE id = $1', [own.entity.id]);
    const inactive = await accept(token);
    await store.db.query('UPDATE entities SET active = true WHERE id = $1', [own.entity.id]);
    await store.db.query(`UPDATE invitations SET expires_at = now() - interval '1 second' WHERE identifier = $1`, [
      identifier,
    ]);
    const [expired, unknown] = [await accept(token), await accept('unknown')];
    expect([inactive.text, unknown.text]).toEqual([expired.text, expired.text]);
    expect((await call('GET', '/invitations', undefined, own.token)).body.result.total_items).toBe(0);
    await deleteExpiredAccountLinks(store.db);
    expect((await store.db.query('SELECT FROM invitations WHERE identifier = $1', [identifier])).rowCount).toBe(0);
    expect((await invite(email, {}, own.token)).email).toBe(email);
    await post.deliver();
  });

  test('gives nothing once its sender is no admin any more, or lost what it gives', async () => {
    const own = await makeWorld(store);
    const { email } = await invite(newEmail(), { enable: { sor_manage: true } }, own.token);
    const token = await post.tokenFor(email);
    const [entityId, userId] = [own.entity.id, own.user.id];
    for (const lost of [
      { rights: ['sor_manage'], admin: false },
      { rights: ['comments'], admin: true },
    ] as const) {
      await updateMembership(store.db, entityId, userId, lost);
      const refused = await accept(token);
      expect([refused.status, refused.body.error_message]).toEqual([
        403,
        expect.stringContaining('can no longer give these rights'),
      ]);
    }
    expect(await isMember(email, own)).toBe(false);
    await updateMembership(store.db, entityId, userId, { rights: ['sor_manage'], admin: true });
    expect((await accept(token)).status).toBe(200);
  });

  test('to be a superadmin is worth what its sender is', async () => {
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [world.user.id]);
    const { email } = await invite(newEmail(), { superadmin: true });
    const token = await post.tokenFor(email);
    await store.db.query('UPDATE users SET superadmin = false WHERE id = $1', [world.user.id]);
    expect((await accept(token)).status).toBe(403);
  });

  test('of an account that exists takes its password, whose guesses count as failed logins', async () => {
    const user = await join(await makeWorld(store));
    await invite(user.email);
    const token = await post.tokenFor(user.email);
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1) statuses.push((await accept(token, `guess ${n}`)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    expect([(await login(user.email)).status, await isMember(user.email)]).toEqual([429, false]);
  });

  test('is mailed a hundred times a day for an entity', async () => {
    const own = await makeWorld(store);
    await invite(newEmail(), {}, own.token);
    await store.db.query('UPDATE login_attempts SET failures = 100');
    const refused = await call('POST', '/users', { email: newEmail() }, own.token);
    expect([refused.status, refused.body.error_message]).toEqual([
      429,
      expect.stringContaining('invitations as it may in a day'),
    ]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(80_000);
    await post.deliver();
  });
});

describe('a link that sets a new password', () => {
  test("goes to the account's own address, works once, and ends sessions and all other links", async () => {
    const user = await join(world, { rights: ['sor_manage'] });
    const session = await insertToken(store.db, user.id, world.entity.id, 1);
    const asked = await call('POST', `/users/${user.uid}/password_reset`);
    await open('/password_resets', { email: user.email });
    const mails = await post.deliver();
    expect(mails.map(({ to }) => to)).toEqual([user.email, user.email]);
    for (const { token } of mails) expect(asked.text).not.toContain(token);
    expect((await login(user.email)).status).toBe(200); // asking alone changes nothing
    expect((await confirm(mails[1]!.link)).body).toEqual({ success: true });
    expect((await server.call('GET', '/api/system_of_records', { token: session })).status).toBe(401);
    expect([(await login(user.email)).status, (await login(user.email, 'a newer password')).status]).toEqual([
      401, 200,
    ]);
    for (const { token } of mails)
      expect((await confirm(token)).body).toMatchObject({ status: 'not_found', error_message: LINK_REFUSED });
  });

  test('ends with a password that the user changes, and with an address that a superadmin changes', async () => {
    const user = await join(world);
    const ended: string[] = [];
    await open('/password_resets', { email: user.email });
    ended.push(await post.tokenFor(user.email));
    const token = await insertToken(store.db, user.id, world.entity.id, 1);
    expect(
      (await call('PUT', '/users/me/password', { password: PASSWORD, new_password: PASSWORD }, token)).status,
    ).toBe(200);
    await open('/password_resets', { email: user.email });
    ended.push(await post.tokenFor(user.email));
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [world.user.id]);
    expect((await call('PUT', `/users/${user.uid}`, { email: newEmail() })).status).toBe(200);
    await store.db.query('UPDATE users SET superadmin = false WHERE id = $1', [world.user.id]);
    for (const link of ended) expect((await confirm(link)).status).toBe(404);
  });

  test('is over after a day', async () => {
    const user = await join(world);
    await open('/password_resets', { email: user.email });
    const token = await post.tokenFor(user.email);
    await store.db.query(`UPDATE password_resets SET expires_at = now() - interval '1 second' WHERE user_id = $1`, [
      user.id,
    ]);
    expect((await confirm(token)).body.error_message).toBe(LINK_REFUSED);
    await deleteExpiredAccountLinks(store.db);
    expect((await store.db.query('SELECT FROM password_resets WHERE user_id = $1', [user.id])).rowCount).toBe(0);
  });

  test('is asked for with one answer, the same work and the same limit whether there is an account', async () => {
    const user = await join(world);
    const asked = async (email: string) => {
      const before = await countResets();
      const { status, text } = await open('/password_resets', { email });
      return { status, text, written: (await countResets()) - before };
    };
    const known = [
      await asked(user.email),
      await asked(user.email.toUpperCase()),
      await asked(user.email),
      await asked(user.email),
    ];
    const nobody = newEmail();
    const unknown = [await asked(nobody), await asked(nobody), await asked(nobody), await asked(nobody)];
    expect(known.map(({ written }) => written)).toEqual([1, 1, 1, 0]);
    expect(unknown).toEqual(known);
    expect((await post.deliver()).map(({ to }) => to)).toEqual([user.email, user.email, user.email]);
    expect((await store.db.query('SELECT FROM password_resets WHERE email = $1', [nobody])).rowCount).toBe(0);
  });

  test('is asked for ten times an hour from one address, and three times for a user by admins', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1) statuses.push((await open('/password_resets', { email: newEmail() })).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
    const user = await join(world);
    const byAdmin: number[] = [];
    for (let n = 0; n < 4; n += 1) byAdmin.push((await call('POST', `/users/${user.uid}/password_reset`)).status);
    expect(byAdmin).toEqual([200, 200, 200, 429]);
    await post.deliver();
  });

  test('cannot make the server hash without end', async () => {
    const user = await join(world);
    await open('/password_resets', { email: user.email });
    const token = await post.tokenFor(user.email);
    const link = { kind: 'link', name: tokenHash(token).toString('hex') } as const;
    for (let others = 0; others < 10; others += 1) await countAttempt(store.db, link); // as many are being hashed
    expect((await confirm(token)).status).toBe(429);
    await deleteFailures(store.db, link);
    expect((await confirm(token)).status).toBe(200);
  });
});

const countResets = async () =>
  (await store.db.query<{ count: number }>('SELECT count(*) FROM password_resets')).rows[0]!.count;

describe('the page that a mailed link opens', () => {
  const HTML = { accept: 'text/html,application/xhtml+xml' };
  const page = (method: 'GET' | 'POST', path: string, fields?: Record<string, string>) =>
    server.call(method, path, {
      headers: { ...HTML, ...(fields ? { 'content-type': 'application/x-www-form-urlencoded' } : {}) },
      ...(fields ? { body: new URLSearchParams(fields).toString() } : {}),
    } satisfies CallOptions);

  test('is a form without scripts that nobody else may show or keep, and opening it has no effect', async () => {
    const { email } = await invite(newEmail(), { first_name: '"><script>alert(1)</script>' });
    const token = await post.tokenFor(email);
    for (let n = 0; n < 3; n += 1) {
      const { status, headers, text } = await page('GET', `/invite/${token}`);
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-\S+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      );
      expect(text).not.toMatch(/<script/i);
      expect(text).not.toContain(token);
      expect(text).toContain(email);
    }
    expect(await isMember(email)).toBe(false);
    const short = await page('POST', `/invite/${token}`, { password: 'short' });
    expect([short.status, short.text]).toEqual([
      400,
      expect.stringContaining('password: must have at least 8 characters'),
    ]);
    const fields = { password: PASSWORD, first_name: '', last_name: 'Byron' };
    const accepted = await page('POST', `/invite/${token}`, fields);
    expect([accepted.status, accepted.text]).toEqual([200, expect.stringContaining(`Welcome to ${world.entity.name}`)]);
    expect((await login(email)).body.result.user.last_name).toBe('Byron');
    const used = await page('GET', `/invite/${token}`);
    expect([used.status, used.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(used.text).toContain(LINK_REFUSED);
  });

  test('asks the owner of an account for its password, and leads those who forgot it to a new one', async () => {
    const user = await join(await makeWorld(store));
    await updateUser(store.db, user.id, { firstName: 'Grace' });
    await invite(user.email);
    const invitation = await post.tokenFor(user.email);
    const { text } = await page('GET', `/invite/${invitation}`);
    expect(text).toMatch(/autocomplete="current-password"/);
    expect(text).not.toMatch(/Grace|first_name/);
    expect(text).toContain('href="../reset"');
    expect((await page('GET', '/reset')).text).toContain('name="email"');
    expect((await page('POST', '/reset', { email: user.email })).text).toContain('If there is an account');
    const reset = await post.tokenFor(user.email);
    expect((await page('GET', `/reset/${reset}`)).text).toContain('autocomplete="new-password"');
    expect((await login(user.email)).status).toBe(200);
    expect((await page('POST', `/reset/${reset}`, { password: 'a newer password' })).text).toContain('is set');
    expect((await page('POST', `/invite/${invitation}`, { password: 'a newer password' })).status).toBe(200);
    expect(await isMember(user.email)).toBe(true);
  });

  test('leaves no token in the log, nor in the figures', async () => {
    const { email } = await invite();
    const token = await post.tokenFor(email);
    await page('GET', `/invite/${token}`);
    await page('POST', `/invite/${token}`, { password: 'short' });
    await page('POST', `/invite/${token}/more`, { password: 'short' });
    await accept(token);
    expect(JSON.stringify([server.logs, server.observed])).not.toContain(token);
    expect(server.observed).toContainEqual(expect.objectContaining({ route: '/invite/:token' }));
  });
});

describe('a mail about an account', () => {
  const stateOf = async (identifier: string) =>
    (await store.db.query('SELECT mail_state, mail_tries FROM invitations WHERE identifier = $1', [identifier]))
      .rows[0];
  const later = (identifier: string) =>
    store.db.query(`UPDATE invitations SET tried_at = now() - interval '1 hour' WHERE identifier = $1`, [identifier]);

  test('that no server took is tried again after a while, with a link that works', async () => {
    const { email, identifier } = await invite();
    const smtp = await smtpServer();
    const outbox = folderFiles('/none');
    const mailer = openMailer({ smtpUrl: `smtp://127.0.0.1:${smtp.port}`, outbox, from: 'm@example.com' });
    const bySmtp = await accountPost(store, mailer);
    smtp.behave({ message: 451 });
    await bySmtp.deliver();
    await bySmtp.deliver();
    expect(await stateOf(identifier)).toMatchObject({ mail_state: 'not_sent', mail_tries: 1 });
    await later(identifier);
    smtp.behave({});
    await bySmtp.deliver();
    expect(smtp.received.filter(({ to }) => to.includes(email))).toHaveLength(1);
    expect(await stateOf(identifier)).toMatchObject({ mail_state: 'sent', mail_tries: 2 });
    await call('POST', `/invitations/${identifier}/send`);
    await later(identifier);
    expect((await accept(await post.tokenFor(email))).status).toBe(200);
  });

  test('that broke off is not sent twice: an admin sees that nobody knows, and sends it again', async () => {
    for (const at of ['account: mail noted', 'account: mail sent']) {
      const { email, identifier } = await invite();
      const killed = (name: string) => {
        if (name === at) throw new Error('killed');
      };
      const before = await post.deliver(killed);
      await later(identifier);
      expect(await post.deliver()).toEqual([]);
      const { items } = (await call('GET', '/invitations?per_page=100')).body.result;
      expect(items.find((one: { email: string }) => one.email === email).mail.state).toBe('unknown');
      // It may have arrived, and then its link works.
      if (at === 'account: mail sent') expect((await accept(before[0]!.token)).status).toBe(200);
      else await call('POST', `/invitations/${identifier}/send`);
      if (at === 'account: mail noted') expect((await accept(await post.tokenFor(email))).status).toBe(200);
    }
  });
});
