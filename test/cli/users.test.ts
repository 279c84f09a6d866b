import { beforeAll, describe, expect, it } from 'vitest';
import { testStore, type TestStore } from '../harness/database.ts';
import { rememberSecret } from '../harness/people.ts';
import { makeWorld, type World } from '../harness/world.ts';
import { testServer } from '../server/test-server.ts';
import { runMillrace } from './run-millrace.ts';

let store: TestStore;
let url: string;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  url = await (await testServer(store)).app.listen({ port: 0, host: '127.0.0.1' });
});

function millrace(args: string[], { token = world.token, input = '' } = {}) {
  return runMillrace(args, { url, token, input });
}

describe('millrace users', () => {
  it('adds, lists, changes and removes a user, whose password comes from standard input', async () => {
    const email = 'ada@example.com';
    const names = ['--first-name', 'Ada', '--rights', 'sor_manage,comments'];
    const added = await millrace(['users', 'add', email, ...names], { input: 'a long password\n' });
    expect(added).toMatchObject({ status: 0, err: '' });
    const uid = /usr_\w+/.exec(added.out)![0];
    expect(added.out).toMatch(/ada@example\.com +Ada +comments, sor_manage/);
    const login = await millrace(['login', email, '--entity', world.entity.identifier], { input: 'a long password\n', token: '' });
    const elsewhere = await millrace(['login', email, '--entity', 'ent_nothing'], { input: 'a long password\n', token: '' });
    expect(elsewhere.err).toBe('Entity not found\n');
    rememberSecret(login.out.trim());
    expect((await millrace(['users', 'list'], { token: login.out.trim() })).err).toContain('This needs an admin');
    const args = ['--take', 'comments', '--give', 'downloads', '--admin', '--password'];
    const changed = await millrace(['users', 'set', 'ADA@example.com', ...args], { input: 'a newer password\n' });
    expect(changed.out).toMatch(/admin +downloads, sor_manage/);
    expect((await millrace(['login', email], { input: 'a long password\n', token: '' })).status).toBe(1);
    const list = await millrace(['users', 'list']);
    expect(list.out).toContain(world.user.email);
    expect(list.out).toMatch(/admin +all$/m);
    expect((await millrace(['users', 'set', uid, '--no-admin'])).out).not.toMatch(/ admin /);
    expect(await millrace(['users', 'remove', email])).toEqual({ status: 0, out: '', err: '' });
    expect(await millrace(['users', 'remove', uid])).toEqual({ status: 1, out: '', err: 'User not found\n' });
    expect((await millrace(['users', 'remove', email])).err).toContain('No user of the entity');
  });

  it('says in a line what is wrong', async () => {
    expect((await millrace(['users', 'add', 'x@example.com', '--rights', 'fly'])).err).toContain('fly is no right. There are: apps,');
    expect((await millrace(['users', 'add', 'x@example.com'])).err).toContain('No password was given');
    const short = await millrace(['users', 'add', 'x@example.com'], { input: 'short\n' });
    expect(short.err).toContain('password: must have at least 8 characters');
    expect((await millrace(['users', 'remove', world.user.uid])).err).toContain('You cannot remove yourself');
  });
});

describe('millrace tokens', () => {
  it('prints a token that acts, lists it, and revokes it', async () => {
    const created = await millrace(['tokens', 'create', 'Nightly load', '--rights', 'sor_manage', '--days', '30']);
    const [token, identifier] = [created.out.trim(), created.err.trim()];
    rememberSecret(token);
    expect([token, identifier]).toEqual([expect.stringMatching(/^mst_/), expect.stringMatching(/^stk_\w+$/)]);
    expect((await millrace(['errors', 'imp_nothing'], { token })).err).toContain('Import not found');
    const list = await millrace(['tokens', 'list']);
    const row = `^${identifier} +Nightly load +${world.user.uid} +\\d{4}-\\S+ +\\d{4}-\\S+ +sor_manage$`;
    expect(list.out).toMatch(new RegExp(row, 'm'));
    expect(list.out).not.toContain(token);
    expect(await millrace(['tokens', 'revoke', identifier])).toEqual({ status: 0, out: '', err: '' });
    expect((await millrace(['errors', 'imp_nothing'], { token })).err).toMatch(/^Invalid or missing token: set MILLRACE_TOKEN to /);
  });

  it('says in a line what is wrong', async () => {
    const days = await millrace(['tokens', 'create', 'Load', '--rights', 'sor_manage', '--days', 'many']);
    expect(days.err).toMatch(/^expires_in_days: must be a whole/);
    expect((await millrace(['tokens', 'create', 'Load', '--rights', 'sor_manage'])).err).toContain('required option');
    expect((await millrace(['tokens', 'revoke', 'stk_nothing'])).err).toBe('Service token not found\n');
  });
});
