import { beforeAll, describe, expect, it } from 'vitest';
import { accountPost, type Post } from '../../harness/accounts/accounts.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { testServer } from '../../server/http/test-server.ts';
import { runMillrace } from '../core/run-millrace.ts';

let store: TestStore;
let url: string;
let world: World;
let post: Post;

beforeAll(async () => {
  store = await testStore();
  post = await accountPost(store);
  world = await makeWorld(store);
  url = await (await testServer(store)).app.listen({ port: 0, host: '127.0.0.1' });
});

function millrace(args: string[], { token = world.token, input = '' } = {}) {
  return runMillrace(args, { url, token, input });
}

describe('millrace users', () => {
  it('invites, accepts, lists, changes and removes a user, whose link and password come from standard input', async () => {
    const email = 'ada@example.com';
    const names = ['--first-name', 'Ada', '--rights', 'sor_manage,comments'];
    const invited = await millrace(['users', 'invite', email, ...names]);
    expect(invited).toMatchObject({ status: 0, err: '' });
    expect(invited.out).toMatch(/^inv_\w+ +ada@example\.com +waiting +\d{4}-\S+ +comments, sor_manage$/m);
    const first = await post.tokenFor(email);
    expect((await millrace(['users', 'invitations'])).out).toMatch(/ada@example\.com +filed /);
    expect((await millrace(['users', 'invite-again', 'ADA@example.com'])).out).toMatch(/ada@example\.com +waiting /);
    const { link } = (await post.deliver())[0]!;
    const accept = (given: string) =>
      millrace(['users', 'accept'], { input: `${given}\na long password\n`, token: '' });
    expect((await accept(first)).err).toContain('This link leads to nothing');
    expect((await accept(link)).out).toBe(
      `You are a user of ${world.entity.name} now. To log in: millrace login ${email}\n`,
    );
    const uid = /(usr_\w+) +ada@/.exec((await millrace(['users', 'list'])).out)![1]!;
    const login = await millrace(['login', email, '--entity', world.entity.identifier], {
      input: 'a long password\n',
      token: '',
    });
    const elsewhere = await millrace(['login', email, '--entity', 'ent_nothing'], {
      input: 'a long password\n',
      token: '',
    });
    expect(elsewhere.err).toBe('Entity not found\n');
    rememberSecret(login.out.trim());
    expect((await millrace(['users', 'list'], { token: login.out.trim() })).err).toContain('This needs an admin');
    const changed = await millrace([
      'users',
      'set',
      'ADA@example.com',
      '--take',
      'comments',
      '--give',
      'downloads',
      '--admin',
    ]);
    expect(changed.out).toMatch(/admin +downloads, sor_manage/);
    const list = await millrace(['users', 'list']);
    expect(list.out).toContain(world.user.email);
    expect(list.out).toMatch(/admin +all$/m);
    expect((await millrace(['users', 'set', uid, '--no-admin'])).out).not.toMatch(/ admin /);
    expect(await millrace(['users', 'remove', email])).toEqual({ status: 0, out: '', err: '' });
    expect(await millrace(['users', 'remove', uid])).toEqual({ status: 1, out: '', err: 'User not found\n' });
    expect((await millrace(['users', 'remove', email])).err).toContain('No user of the entity');
  });

  it('mails links that set a new password, asked for by an admin or by a person who forgot theirs', async () => {
    const { email, uid } = world.user;
    for (const [command, who] of [
      ['reset-password', uid],
      ['forgot-password', email],
    ] as const) {
      expect(
        (await millrace(['users', command, who], command === 'reset-password' ? {} : { token: '' })).out,
      ).toContain('on its way');
      const input = `${await post.tokenFor(email)}\na newer password\n`;
      expect((await millrace(['users', 'new-password'], { input, token: '' })).out).toBe('The new password is set.\n');
    }
    const login = await millrace(['login', email], { input: 'a newer password\n', token: '' });
    rememberSecret(login.out.trim());
    world.token = login.out.trim(); // all other sessions have ended
  });

  it('withdraws an invitation, and says in a line what is wrong', async () => {
    await millrace(['users', 'invite', 'x@example.com']);
    expect(await millrace(['users', 'withdraw', 'x@example.com'])).toEqual({ status: 0, out: '', err: '' });
    expect((await millrace(['users', 'withdraw', 'x@example.com'])).err).toBe(
      'There is no invitation of x@example.com.\n',
    );
    expect((await millrace(['users', 'invite', 'x@example.com', '--rights', 'fly'])).err).toContain(
      'fly is no right. There are: apps,',
    );
    expect((await millrace(['users', 'accept'])).err).toContain('No link was given');
    expect((await millrace(['users', 'accept'], { input: 'link\n' })).err).toContain('No password was given');
    const short = await millrace(['users', 'new-password'], { input: 'link\nshort\n' });
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
    expect((await millrace(['errors', 'imp_nothing'], { token })).err).toMatch(
      /^Invalid or missing token: set MILLRACE_TOKEN to /,
    );
  });

  it('says in a line what is wrong', async () => {
    const days = await millrace(['tokens', 'create', 'Load', '--rights', 'sor_manage', '--days', 'many']);
    expect(days.err).toMatch(/^expires_in_days: must be a whole/);
    expect((await millrace(['tokens', 'create', 'Load', '--rights', 'sor_manage'])).err).toContain('required option');
    expect((await millrace(['tokens', 'revoke', 'stk_nothing'])).err).toBe('Service token not found\n');
  });
});
