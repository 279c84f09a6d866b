import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, askForRun, makeSync, openShop, runEnded, runSync, type Shop } from '../../harness/syncs/syncs.ts';
import { runMillrace, startMillrace } from '../core/run-millrace.ts';

const stack = useStack();
let url: string;
let folder: string;
let world: World;
let shop: Shop;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world);
  url = await stack.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'millrace-syncs-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  for (const name of ['good', 'mixed', 'gone', 'dry']) await makeTable(name);
});

const millrace = (args: string[], input = '') => runMillrace(['syncs', ...args], { url, token: world.token, input });

async function makeTable(name: string): Promise<void> {
  const table = shop.table(name);
  await shop.db.query(
    `CREATE TABLE ${table} (email text, tariff text, points text); ALTER TABLE ${table} OWNER TO ${shop.role}`,
  );
}

async function fill(name: string, ...rows: [email: string, tariff: string, points: string][]): Promise<void> {
  for (const row of rows) await shop.db.query(`INSERT INTO ${shop.table(name)} VALUES ($1, $2, $3)`, row);
}

const from = (stream: string) => ({
  name: `Buyers of ${stream}`,
  source: { connection: shop.connection, stream },
  destination: { sor: world.sor.identifier },
  mapping: {
    customer: { field: 'email' },
    fields: [
      { from: 'tariff', to: 'plan' },
      { from: 'points', to: 'score', as: 'number' },
    ],
  },
});

const runIn = (out: string) => /^run (run_\w+)$/m.exec(out)![1]!;

describe('a run that is followed', () => {
  it('tells that it waits for its turn; Ctrl-C ends the showing, and says how to go on', async () => {
    const sync = await makeSync(stack, world, from('good'));
    const { child, said, ended } = startMillrace(['syncs', 'run', sync], { url, token: world.token });
    await waitFor('the view', async () => said.err.includes('waiting for its turn'));
    process.kill(-child.pid!, 'SIGINT');
    const { status, out, err } = await ended;
    const id = runIn(out);
    expect(status).toBe(130);
    expect(err).toContain(
      `The run goes on. To follow it: millrace syncs follow ${id}; to cancel it: millrace syncs cancel ${id}`,
    );
    const again = await millrace(['run', sync]);
    expect(again).toEqual({ status: 1, out: '', err: `A run that was asked for waits already: ${id}\n` });
    expect(await millrace(['status', id])).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^accepted: 0 records read/) as string,
    });
    expect(await millrace(['cancel', id])).toEqual({ status: 0, out: 'canceled\n', err: '' });
    expect(await millrace(['follow', id])).toMatchObject({
      status: 2,
      out: expect.stringMatching(/^canceled: 0 records read/) as string,
    });
    expect(await millrace(['cancel', id])).toEqual({ status: 1, out: '', err: 'The run has ended already\n' });
    expect((await millrace(['remove', sync, '--yes'])).status).toBe(0);
  });

  it('tells that it waits for its source, until when, and why', async () => {
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name: 'Nobody there',
      connector: 'postgres',
      settings: { ...shop.settings, port: 9 },
    });
    const sync = await makeSync(stack, world, {
      ...from('good'),
      name: 'Unreachable',
      source: { connection, stream: 'good' },
    });
    const { child, said, ended } = startMillrace(['syncs', 'run', sync], { url, token: world.token });
    await waitFor('the start', async () => said.out.includes('run run_'));
    stack.startWorker();
    const view = /waiting until \d\d:\d\d:\d\d, after \d+ tr(y|ies): \S+.*\| 0 records \|/;
    await waitFor('the view', async () => view.test(said.err));
    process.kill(-child.pid!, 'SIGINT');
    expect((await ended).status).toBe(130);
    const id = runIn(said.out);
    expect((await millrace(['status', id])).out).toMatch(/^running: 0 .*\nwaiting until /);
    expect((await millrace(['cancel', id])).status).toBe(0);
    expect(await runEnded(stack.store, world, id)).toMatchObject({ state: 'canceled' });
    expect(await millrace(['log', id])).toEqual({ status: 0, out: 'no lines\n', err: '' });
  });
});

describe('millrace syncs run', () => {
  it('follows the run, says what became of the records, and exits with 0', async () => {
    await fill('good', [personId(1), 'gold', '1'], [personId(2), 'iron', '2']);
    const path = join(folder, 'good.json');
    await writeFile(path, JSON.stringify(from('good')));
    const added = await millrace(['add', path]);
    expect(added).toEqual({ status: 0, err: '', out: expect.stringMatching(/^syn_\w+\n$/) as string });
    const { status, out, err } = await millrace(['run', 'Buyers of good']);
    expect(out).toMatch(/^run run_\w+\nfinished: 2 records read, 2 written, 0 unchanged, 0 ignored, 0 failed\n$/);
    expect(err).toMatch(/ records\/s \| \d+\.\d MiB \| \d+ s/);
    expect(status).toBe(0);
    expect((await millrace(['run', added.out.trim()])).out).toMatch(
      /^finished: 2 records read, 0 written, 2 unchanged/m,
    );
    expect((await millrace(['run', added.out.trim(), '--fresh'])).out).toMatch(/^finished: 2 records read, 2 written/m);
    const list = await millrace(['runs', 'Buyers of good']);
    expect(list.out.trimEnd().split('\n').slice(2)).toEqual([
      expect.stringMatching(/^run_\w+ +request +finished +\S+ +2 +2 +0 +0 +0$/),
      expect.stringMatching(/^run_\w+ +request +finished +\S+ +2 +0 +2 +0 +0$/),
      expect.stringMatching(/^run_\w+ +request +finished +\S+ +2 +2 +0 +0 +0$/),
    ]);
    const taken = await millrace(['add', path]);
    expect(taken).toMatchObject({
      status: 1,
      err: `There is a sync Buyers of good already. To change it: millrace sync apply ${path}\n`,
    });
  });

  it('exits with 2 where records failed; errors lists them, and redrive brings them again', async () => {
    await fill('mixed', [personId(11), 'gold', '1'], [personId(12), 'gold', 'many'], ['', 'gold', '1']);
    const sync = await makeSync(stack, world, from('mixed'));
    const { status, out } = await millrace(['run', sync]);
    expect(out).toMatch(/^finished: 3 records read, 1 written, 0 unchanged, 0 ignored, 2 failed$/m);
    expect(out).toMatch(/^INVALID_VALUE +1$/m);
    expect(status).toBe(2);
    const id = runIn(out);
    expect(out).toContain(`Each with its reason: millrace syncs errors ${id}`);
    const list = await millrace(['errors', id]);
    expect(list.out).toMatch(/^record +error +customer or key +field +reason$/m);
    expect(list.out).toMatch(/^2 +INVALID_VALUE +\S+ +score +\S/m);
    expect(list.out).toMatch(/^3 +INVALID_CUSTOMER_ID /m);
    const typed = await millrace(['errors', id, '--type', 'INVALID_VALUE', '--json']);
    expect(JSON.parse(typed.out)).toMatchObject({ line: 2, record: expect.stringContaining('many') as string });
    const path = join(folder, 'errors.csv');
    expect(await millrace(['errors', id, '--csv', '--output', path])).toEqual({ status: 0, out: '', err: '' });
    expect(await readFile(path, 'utf8')).toMatch(
      /^line,error_type,outcome,customer_id,record_key,key,reason,record\r?\n2,INVALID/,
    );
    const mapping = { ...from('mixed').mapping, fields: [{ from: 'tariff', to: 'plan' }] };
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { mapping });
    const redriven = await millrace(['redrive', id]);
    expect(redriven.out).toMatch(/^finished: 2 records read, \d written, \d unchanged, 0 ignored, 1 failed$/m);
    expect(redriven.out).toContain(`a re-drive of ${id}`);
    expect(redriven.status).toBe(2);
    expect((await millrace(['status', id])).out).toMatch(/^still open: 1 /m);
    expect((await millrace(['errors', id, '--open'])).out).not.toContain('INVALID_VALUE');
  });

  it('names what failed at another destination by its key, and the field at fault with its value', async () => {
    const [from, to] = [shop.table('outgoing'), shop.table('held')];
    await shop.db.query(`CREATE TABLE ${from} (id integer PRIMARY KEY, plan text);
      CREATE TABLE ${to} (id integer PRIMARY KEY, plan integer);
      ALTER TABLE ${from} OWNER TO ${shop.role}; ALTER TABLE ${to} OWNER TO ${shop.role};
      INSERT INTO ${from} VALUES (1, '7'), (42, 'abc')`);
    const sync = await makeSync(stack, world, {
      name: 'Outgoing',
      source: { connection: shop.connection, stream: 'outgoing' },
      mapping: {},
      destination: { connection: shop.connection, stream: 'held', key: ['id'] },
    });
    const { status, out } = await millrace(['run', sync]);
    expect(out).toMatch(/^finished: 2 records read, 1 written, 0 unchanged, 0 ignored, 1 failed$/m);
    expect(status).toBe(2);
    const { out: list } = await millrace(['errors', runIn(out)]);
    expect(list).toMatch(/^record +error +customer or key +field +reason$/m);
    expect(list).toMatch(/^2 +DELIVERY_FAILED +42 +plan +"abc" is no integer \(SQLSTATE 22P02\)$/m);
  });

  it('says why it removed nothing, and removes once that is confirmed', async () => {
    await fill('gone', [personId(21), 'gold', '1'], [personId(22), 'gold', '2'], [personId(23), 'gold', '3']);
    const sync = await makeSync(stack, world, { ...from('gone'), removes: true });
    expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', progress: { written: 3 } });
    await shop.db.query(`DELETE FROM ${shop.table('gone')} WHERE points <> '1'`);
    const held = await millrace(['run', sync]);
    expect(held.out).toContain(`If they are really gone: millrace syncs run ${sync} --confirm-removals`);
    expect(held.status).toBe(2);
    const confirmed = await millrace(['run', sync, '--confirm-removals']);
    expect(confirmed.out).toContain('removed: 2 records that the source has no more');
    expect(confirmed.status).toBe(0);
  });

  it('says what the source has become, and goes on once that is accepted', async () => {
    await makeTable('grown');
    const sync = await makeSync(stack, world, { ...from('grown'), on_schema_change: 'stop' });
    expect((await millrace(['run', sync])).status).toBe(0);
    await shop.db.query(`ALTER TABLE ${shop.table('grown')} ADD COLUMN town text`);
    const stopped = await millrace(['run', sync]);
    expect(stopped.out).toMatch(/^failed: 0 records read.*\nThe source's fields have changed: .*town/m);
    expect(stopped.out).toContain(`To accept the fields as they are: millrace syncs accept-schema ${sync}\n`);
    expect(stopped.status).toBe(2);
    expect((await millrace(['log', runIn(stopped.out)])).out).toMatch(
      /^\d{4}-\d\d-\d\dT\S+Z {2}the source's fields have changed: .*town/m,
    );
    expect((await millrace(['accept-schema', sync])).status).toBe(0);
    expect((await millrace(['run', sync])).out).toMatch(/^finished: 0 records read/m);
  });

  it('is refused by millrace sync where its records would become those of another', async () => {
    const sync = await makeSync(stack, world, { ...from('good'), name: 'Run before' });
    expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', progress: { written: 2 } });
    const path = join(folder, 'moved.yaml');
    await writeFile(
      path,
      [
        'name: Run before',
        'source: { connection: Shop, stream: others }',
        'destination: { sor: CRM }',
        'mapping:',
        '  customer: { field: email }',
        '  fields:',
        '    - { from: tariff, to: plan }',
        '',
      ].join('\n'),
    );
    const { status, err } = await runMillrace(['sync', 'diff', path], { url, token: world.token });
    expect(status).toBe(1);
    expect(err).toMatch(/moved\.yaml:1:1: source, destination and mapping\.customer name the records/);
  });

  it('--no-wait prints the run and leaves it to itself', async () => {
    const { status, out, err } = await millrace(['run', 'Buyers of good', '--no-wait']);
    expect([status, err]).toEqual([0, '']);
    expect(await runEnded(stack.store, world, runIn(out))).toMatchObject({ state: 'finished' });
  });
});

describe('millrace syncs dry-run', () => {
  it('shows what would change of each record, and changes nothing', async () => {
    await fill('dry', [personId(31), 'gold', '1'], [personId(32), 'iron', 'many']);
    const sync = await makeSync(stack, world, from('dry'));
    const { status, out } = await millrace(['dry-run', sync]);
    expect(out).toMatch(
      /^dry run: nothing was written\nfinished: 2 records read, 1 written, 0 unchanged, 0 ignored, 1 failed$/m,
    );
    expect(out).toMatch(/^1 +written +\S+ +plan: \(nothing\) → "gold"\n +score: \(nothing\) → 1$/m);
    expect(out).toMatch(/^2 +failed +\S+ +plan: \(nothing\) → "iron"$/m);
    expect(status).toBe(2);
    expect((await millrace(['dry-run', sync, '--records', '1'])).out).toMatch(/^finished: 1 record read, 1 written/m);
    expect((await millrace(['run', sync])).out).toMatch(/^finished: 2 records read, 1 written/m);
    const wrong = await millrace(['dry-run', sync, '--records', 'some']);
    expect(wrong).toMatchObject({ status: 1, err: expect.stringContaining('It takes a whole number.') as string });
  });
});

describe('millrace syncs', () => {
  it('lists them, pauses and resumes one, and removes one', async () => {
    const sync = await makeSync(stack, world, { ...from('good'), name: 'By the day', schedule: { cron: '0 3 * * *' } });
    expect((await millrace([])).out).toMatch(
      /^syn_\w+ +By the day +Shop \/ good +CRM +full +active +never +\d{4}-\d\d-\d\dT03:00$/m,
    );
    expect((await millrace(['pause', 'By the day'])).out).toMatch(/By the day .* paused +never$/m);
    expect((await millrace(['view', sync])).out).toMatch(/^# paused: by hand$/m);
    expect((await millrace(['resume', sync])).out).toMatch(/By the day .* active /m);
    expect((await millrace(['accept-schema', sync])).status).toBe(0);
    const unasked = `This would delete the sync By the day (${sync}): add --yes. Nothing was changed.\n`;
    expect(await millrace(['remove', 'By the day'])).toEqual({ status: 1, out: '', err: unasked });
    expect((await millrace(['list'])).out).toContain('By the day');
    expect(await millrace(['remove', 'By the day', '--yes'])).toEqual({ status: 0, out: '', err: '' });
    expect((await millrace(['list'])).out).not.toContain('By the day');
  });

  it("names the nearest to a sync that is not there, and knows no other entity's runs", async () => {
    const missing = await millrace(['run', 'Buyers of goods']);
    expect(missing).toEqual({
      status: 1,
      out: '',
      err: 'There is no sync Buyers of goods: did you mean Buyers of good?\n',
    });
    const sync = await makeSync(stack, world, { ...from('good'), name: 'For others' });
    const id = await askForRun(stack, world, sync);
    await runEnded(stack.store, world, id);
    const { token } = await makeWorld(stack.store);
    for (const command of ['status', 'follow', 'errors', 'log', 'redrive', 'cancel']) {
      expect(await runMillrace(['syncs', command, id], { url, token })).toEqual({
        status: 1,
        out: '',
        err: 'Run not found\n',
      });
    }
  });
});
