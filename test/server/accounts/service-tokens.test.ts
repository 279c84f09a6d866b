import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Right } from '../../../domain/accounts/rights.ts';
import { insertToken } from '../../../store/accounts/tokens.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const PATH = '/api/service_tokens';
const DAY_MS = 86_400_000;

const { store, server, world } = useServer();

/** A user of the world's entity who is no admin. */
async function member(rights: Right[]) {
  const email = `user-${crypto.randomUUID()}@example.com`;
  const user = await insertUser(store.db, { email, passwordHash: '', preferedEntityId: world.entity.id });
  await insertMembership(store.db, { userId: user.id, entityId: world.entity.id, rights, admin: false });
  const token = await insertToken(store.db, user.id, world.entity.id, 1);
  rememberSecret(token);
  return { user, token };
}

async function create(token: string, body: object = {}) {
  const reply = await server.call('POST', PATH, {
    token,
    body: { name: 'Load', rights: ['sor_manage'], expires_in_days: 30, ...body },
  });
  if (reply.status === 200) rememberSecret(reply.body.result.token);
  return reply;
}

const made = async (token: string, body: object = {}) =>
  (await create(token, body)).body.result as { identifier: string; token: string };
const list = async (token: string) =>
  (await server.call('GET', PATH, { token })).body.result.items as { identifier: string }[];
const sors = async (token: string) => (await server.call('GET', '/api/system_of_records', { token })).status;

describe('a service token', () => {
  test('is shown once, kept as its hash, and acts in its entity', async () => {
    const { status, body } = await create(world.token);
    expect(status).toBe(200);
    const { token, ...record } = body.result;
    expect(token).toMatch(/^mst_[A-Za-z0-9_-]{43}$/);
    expect(record).toMatchObject({
      identifier: expect.stringMatching(/^stk_/),
      name: 'Load',
      rights: ['sor_manage'],
      last_used_at: null,
      created_by: { id: world.user.id, uid: world.user.uid },
    });
    expect(Math.abs(Date.parse(record.expires_at) - Date.now() - 30 * DAY_MS)).toBeLessThan(60_000);
    const { rows } = await store.db.query(
      'SELECT s.token_hash, s::text AS all FROM service_tokens s WHERE identifier = $1',
      [record.identifier],
    );
    expect(rows[0].token_hash).toEqual(createHash('sha256').update(token).digest());
    expect(rows[0].all).not.toContain(token);
    expect(await sors(token)).toBe(200);
    const [listed] = (await list(world.token)).filter(({ identifier }) => identifier === record.identifier);
    expect(listed).toEqual({ ...record, last_used_at: expect.any(String) });
    const once = { name: 'Once', rights: ['sor_manage'], expires_in_days: 1 };
    const idempotent = { token: world.token, headers: { 'idempotency-key': 'one' }, body: once };
    const first = await server.call('POST', PATH, idempotent);
    rememberSecret(first.body.result.token);
    const repeat = await server.call('POST', PATH, idempotent);
    expect([repeat.status, repeat.body.identifier]).toEqual([409, first.body.result.identifier]);
    expect(repeat.text).not.toContain(first.body.result.token);
  });

  test('opens no more than its creator may, now', async () => {
    const { user, token } = await member(['sor_manage', 'comments']);
    const service = await made(token);
    expect(await sors(service.token)).toBe(200);
    const set = (rights: Right[]) =>
      store.db.query('UPDATE memberships SET rights = $2 WHERE user_id = $1', [user.id, rights]);
    await set(['comments']);
    expect(await sors(service.token)).toBe(403);
    await set(['comments', 'sor_manage']);
    expect(await sors(service.token)).toBe(200);
    const little = await made(token, { rights: ['comments'] });
    expect(await sors(little.token)).toBe(403);
    await server.call('DELETE', `/api/users/${user.uid}`, { token: world.token });
    expect(await sors(service.token)).toBe(401);
    expect((await list(world.token)).map(({ identifier }) => identifier)).not.toContain(service.identifier);
  });

  test('stays closed when its creator leaves the entity and comes back', async () => {
    const { user, token } = await member(['sor_manage']);
    const service = await made(token);
    const elsewhere = await makeWorld(store);
    const add = (entityId: number) =>
      insertMembership(store.db, { userId: user.id, entityId, rights: ['sor_manage'], admin: false });
    await add(elsewhere.entity.id); // or the account would end with its last entity
    expect(await sors(service.token)).toBe(200);
    await server.call('DELETE', `/api/users/${user.uid}`, { token: world.token });
    await add(world.entity.id);
    expect(await sors(service.token)).toBe(401);
  });

  test('has only rights that its creator has', async () => {
    const { token } = await member(['sor_manage']);
    const { status, body } = await create(token, { rights: ['sor_manage', 'gdpr_data_manage'] });
    expect([status, body.error_message]).toEqual([403, expect.stringContaining('gdpr_data_manage')]);
  });

  test('of a superadmin is no admin', async () => {
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [world.user.id]);
    const { token } = await made(world.token);
    for (const path of ['/api/users', '/api/entities', '/api/audit_log', PATH]) {
      expect((await server.call('GET', path, { token })).status).toBe(403);
    }
    await store.db.query('UPDATE users SET superadmin = false WHERE id = $1', [world.user.id]);
  });

  test('ends when it is revoked, when it expires, and while its entity is inactive', async () => {
    const service = await made(world.token);
    await store.db.query('UPDATE entities SET active = false WHERE id = $1', [world.entity.id]);
    expect(await sors(service.token)).toBe(401);
    await store.db.query('UPDATE entities SET active = true WHERE id = $1', [world.entity.id]);
    expect(await sors(service.token)).toBe(200);
    expect((await server.call('DELETE', `${PATH}/${service.identifier}`, { token: world.token })).body).toEqual({
      success: true,
    });
    expect(await sors(service.token)).toBe(401);
    expect((await server.call('DELETE', `${PATH}/${service.identifier}`, { token: world.token })).status).toBe(404);
    const old = await made(world.token);
    await store.db.query(`UPDATE service_tokens SET expires_at = now() - interval '1 second' WHERE identifier = $1`, [
      old.identifier,
    ]);
    expect(await sors(old.token)).toBe(401);
  });

  test.each([
    [{ expires_in_days: undefined }, 'expires_in_days'],
    [{ expires_in_days: 731 }, 'expires_in_days'],
    [{ expires_in_days: 0 }, 'expires_in_days'],
    [{ expires_in_days: undefined, expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ expires_in_days: undefined, expires_at: new Date(Date.now() + 731 * DAY_MS).toISOString() }, 'expires_at'],
    [{ expires_at: new Date(Date.now() + DAY_MS).toISOString() }, 'expires_at'],
    [{ rights: [] }, 'rights'],
    [{ rights: ['fly'] }, 'rights.0'],
  ])('is refused with what is wrong named: %j', async (wrong, element) => {
    const { status, body } = await create(world.token, wrong);
    expect([status, body.messages?.[0].element]).toEqual([400, element]);
  });

  test('may end at a date', async () => {
    const expires_at = new Date(Date.now() + 729 * DAY_MS).toISOString();
    expect((await create(world.token, { expires_in_days: undefined, expires_at })).body.result.expires_at).toBe(
      expires_at,
    );
  });

  test('is seen and revoked by its creator and by admins', async () => {
    const [one, other] = [await member(['sor_manage']), await member(['sor_manage'])];
    const service = await made(one.token);
    expect((await list(one.token)).map(({ identifier }) => identifier)).toEqual([service.identifier]);
    expect(await list(other.token)).toEqual([]);
    expect((await list(world.token)).map(({ identifier }) => identifier)).toContain(service.identifier);
    expect((await server.call('DELETE', `${PATH}/${service.identifier}`, { token: other.token })).status).toBe(404);
    expect((await server.call('DELETE', `${PATH}/${service.identifier}`, { token: one.token })).status).toBe(200);
  });

  test('is an actor of its own in the audit log, and its creator owns what it makes', async () => {
    const { token, identifier } = await made(world.token);
    const sor = (await server.call('POST', '/api/system_of_records', { token, body: { name: 'By machine' } })).body
      .result;
    const { entries } = (await server.call('GET', `/api/audit_log?actor=${identifier}`, { token: world.token })).body
      .result;
    expect(entries).toMatchObject([
      { actor_kind: 'service_token', actor: identifier, actor_name: 'Load', action: 'create', subject: sor.identifier },
    ]);
    const { rows } = await store.db.query('SELECT created_by FROM systems_of_records WHERE identifier = $1', [
      sor.identifier,
    ]);
    expect(rows).toEqual([{ created_by: world.user.id }]);
  });
});
