import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { SettingValues } from '../../../store/syncs/connections.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { postgresSettings } from '../../server/http/samples.ts';
import { testServer } from '../../server/http/test-server.ts';
import { runMillrace } from '../core/run-millrace.ts';

const WRONG = 'a wrong password of the command line';

let url: string;
let world: World;
let settings: SettingValues & { password: string };
let folder: string;

beforeAll(async () => {
  const store = await testStore();
  await store.db.query('CREATE SCHEMA shop');
  await store.db.query('CREATE TABLE shop.orders (id integer PRIMARY KEY, placed_at timestamptz NOT NULL)');
  world = await makeWorld(store);
  settings = { ...postgresSettings(store.url), schema: 'shop' };
  rememberSecret(WRONG);
  url = await (await testServer(store)).app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  onFileEnd(() => rm(folder, { recursive: true }));
});

function millrace(args: string[], input = '') {
  return runMillrace(['connections', ...args], { url, token: world.token, input });
}

async function file(content: string): Promise<string> {
  const path = join(folder, 'settings.json');
  await writeFile(path, content);
  return path;
}

describe('millrace connections', () => {
  it('adds, tries, lists, changes and removes one; secrets come from a file or standard input', async () => {
    const added = await millrace([
      'add',
      'Warehouse',
      '--connector',
      'postgres',
      '--settings',
      await file(JSON.stringify(settings)),
    ]);
    expect(added).toMatchObject({ status: 0, out: expect.stringMatching(/^con_\w+\n$/), err: '' });
    const id = added.out.trim();
    expect(await millrace(['check', id])).toEqual({ status: 0, out: 'works\n', err: '' });
    expect((await millrace(['streams', id])).out).toMatch(/^orders +/m);
    for (const args of [[], ['list']]) {
      expect((await millrace(args)).out).toMatch(new RegExp(`^${id} +Warehouse +postgres +1 +\\d{4}-`, 'm'));
    }
    const spoilt = JSON.stringify({ ...settings, password: WRONG });
    const updated = await millrace(['update', id, '--name', 'Store', '--settings', '-'], spoilt);
    expect(updated.out).toMatch(new RegExp(`^${id} +Store +postgres +2 `, 'm'));
    const failed = await millrace(['check', id, '--as', 'source']);
    expect(failed).toMatchObject({ status: 2, out: '', err: expect.stringContaining('password') });
    expect(JSON.stringify([updated, failed])).not.toContain(WRONG);
    const unasked = `This would delete the connection Store (${id}): add --yes. Nothing was changed.\n`;
    expect(await millrace(['remove', id])).toEqual({ status: 1, out: '', err: unasked });
    expect(await millrace(['remove', id, '--yes'])).toEqual({ status: 0, out: '', err: '' });
    expect(await millrace(['remove', id, '--yes'])).toEqual({
      status: 1,
      out: '',
      err: `${id} is no connection: there is none yet.\n`,
    });
  });

  it('knows a connection by its name, too, and names the nearest to one that is not there', async () => {
    const id = (
      await millrace(['add', 'Depot', '--connector', 'postgres', '--settings', await file(JSON.stringify(settings))])
    ).out.trim();
    expect(await millrace(['check', 'Depot'])).toEqual({ status: 0, out: 'works\n', err: '' });
    expect((await millrace(['streams', 'Depot'])).out).toMatch(/^orders +/m);
    expect((await millrace(['update', 'Depot', '--name', 'Depot 2'])).out).toMatch(new RegExp(`^${id} +Depot 2 `, 'm'));
    expect(await millrace(['check', 'Depot'])).toEqual({
      status: 1,
      out: '',
      err: 'Depot is no connection: did you mean Depot 2?\n',
    });
    expect(await millrace(['remove', 'Depot 2', '--yes'])).toEqual({ status: 0, out: '', err: '' });
  });

  it('tells what each connector takes', async () => {
    expect((await millrace(['connectors'])).out).toMatch(
      /^postgres +PostgreSQL +source.* host \[port\] database user password\* /m,
    );
  });

  it('says in a line what is wrong', async () => {
    const add = async (content: string, connector = 'postgres') =>
      (await millrace(['add', 'One', '--connector', connector, '--settings', await file(content)])).err;
    expect(await add(JSON.stringify(settings), 'postgers')).toContain('connector: is unknown: did you mean postgres?');
    expect(await add(JSON.stringify({ ...settings, port: 'many' }))).toContain('settings.port: ');
    expect(await add(`{"password": "${WRONG}"`)).toMatch(/settings\.json is no JSON object: [^\n]*\n$/);
    expect(await add('[]')).toContain('is no JSON object');
    const args = ['--connector', 'postgres', '--settings'];
    expect((await millrace(['add', 'One', ...args, join(folder, 'none')])).err).toMatch(
      /none cannot be read \(ENOENT\)\.\n$/,
    );
    expect((await millrace(['add', 'One', ...args, '-'])).err).toContain('Standard input is no JSON object');
    expect((await millrace(['check', 'con_nothing'])).err).toBe('con_nothing is no connection: there is none yet.\n');
    await millrace(['add', 'One', ...args, await file(JSON.stringify(settings))]);
    expect((await millrace(['streams', 'One', '--as', 'both'])).err).toContain(
      'as: must be one of source, destination',
    );
  });
});
