import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, openShop } from '../../harness/syncs/syncs.ts';
import { runMillrace } from '../core/run-millrace.ts';

type Sync = {
  identifier: string;
  name: string;
  revision: number;
  alerts: { emails: string[] };
  removal_limit: number;
  mode: string;
};

rememberSecret('zqclihook');

const stack = useStack();
let url: string;
let folder: string;
/** Each test has a world of its own, in which no other syncs are. */
let world: World;

beforeAll(async () => {
  url = await stack.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'millrace-syncs-'));
  onFileEnd(() => rm(folder, { recursive: true }));
});

async function newWorld(): Promise<void> {
  world = await makeWorld(stack.store);
  await openShop(stack, world);
}

const millrace = (args: string[], input = '') => runMillrace(args, { url, token: world.token, input });

async function file(name: string, ...lines: string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

const buyers = (name: string, ...more: string[]) => [
  `name: ${name}`,
  'source: { connection: Shop, stream: buyers }',
  'destination: { sor: CRM }',
  'mapping:',
  '  customer: { field: email }',
  '  fields:',
  '    - { from: tariff, to: plan }',
  ...more,
];

async function syncs(): Promise<Sync[]> {
  return (await ask<{ items: Sync[] }>(stack.app, world, 'GET', '/api/syncs')).items;
}

describe('millrace sync apply', () => {
  beforeAll(newWorld);

  it('makes what the files have, changes what differs, and does nothing the second time', async () => {
    const one = await file('one.yaml', ...buyers('Buyers', 'removal_limit: 20'));
    const two = await file(
      'two.yaml',
      ...buyers('By the hour', 'schedule: { every_minutes: 60 }'),
      '---',
      ...buyers('Third'),
      '---',
    );
    const first = await millrace(['sync', 'apply', one, two]);
    expect(first).toMatchObject({ status: 0, err: '' });
    expect(first.out).toMatch(
      /^created: Buyers \(syn_\w+\)\ncreated: By the hour \(syn_\w+\)\ncreated: Third \(syn_\w+\)\n$/,
    );
    const made = await syncs();
    expect(made).toMatchObject([
      { name: 'Buyers', removal_limit: 20, mode: 'full', alerts: { emails: [world.user.email] } },
      {},
      {},
    ]);
    expect(await millrace(['sync', 'diff', one, two])).toEqual({ status: 0, out: 'unchanged: 3 syncs\n', err: '' });
    const again = await millrace(['sync', 'apply', one, two]);
    expect(again.out).toMatch(/^unchanged: Buyers \(syn_\w+\)\nunchanged: By the hour .*\nunchanged: Third .*\n$/);
    expect(await syncs()).toEqual(made);
  });

  it('tells each member that changes, and gives one that was taken out of the file its default again', async () => {
    const path = await file(
      'two.yaml',
      ...buyers('By the hour').map((line) => line.replace('to: plan', 'to: plan, as: string')),
    );
    const diff = await millrace(['sync', 'diff', path]);
    expect(diff.status).toBe(2);
    expect(diff.out.split('\n')).toEqual([
      expect.stringMatching(/^changed: By the hour \(syn_\w+\)$/),
      '  mapping.fields.0.as: (nothing) → "string"',
      '  schedule: {"every_minutes":60,"jitter_seconds":0} → (nothing)',
      expect.stringMatching(/^only on the server: Buyers \(syn_\w+\)$/),
      expect.stringMatching(/^only on the server: Third \(syn_\w+\)$/),
      '',
    ]);
    const applied = await millrace(['sync', 'apply', path]);
    expect(applied).toMatchObject({ status: 0, out: expect.stringMatching(/^changed: By the hour \(/m) as string });
    expect(await syncs()).toMatchObject([
      { revision: 1 },
      { name: 'By the hour', schedule: null, revision: 2 },
      { revision: 1 },
    ]);
    expect(await millrace(['sync', 'diff', path])).toMatchObject({ status: 0 });
  });

  it('is the same for whoever applies it: who is told of failures stays', async () => {
    const { token } = await ask<{ token: string }>(stack.app, world, 'POST', '/api/service_tokens', {
      name: 'CI',
      rights: ['sor_manage'],
      expires_in_days: 1,
    });
    const path = await file('mine.yaml', ...buyers('Buyers', 'removal_limit: 20'));
    const outcome = await runMillrace(['sync', 'diff', path], { url, token });
    expect(outcome).toMatchObject({ status: 0, out: expect.stringMatching(/^unchanged: 1 sync$/m) as string });
  });

  it('deletes what no file has only if asked to, and not without a yes', async () => {
    const path = await file('one.yaml', ...buyers('Buyers', 'removal_limit: 30'));
    const unasked = await millrace(['sync', 'apply', path, '--delete']);
    expect(unasked).toMatchObject({ status: 1, err: 'This would delete 2 syncs: add --yes. Nothing was changed.\n' });
    expect(unasked.out).toMatch(/^to be deleted: By the hour /m);
    expect(await syncs()).toMatchObject([{ removal_limit: 20 }, {}, {}]);
    expect((await millrace(['sync', 'diff', path, '--delete'])).status).toBe(2);
    const asked = await millrace(['sync', 'apply', path, '--delete', '--yes']);
    expect(asked).toMatchObject({ status: 0, err: '' });
    expect(asked.out).toMatch(/^changed: Buyers .*\ndeleted: By the hour .*\ndeleted: Third /m);
    expect(await syncs()).toMatchObject([{ name: 'Buyers', removal_limit: 30 }]);
    expect(await millrace(['sync', 'diff', path, '--delete'])).toMatchObject({ status: 0 });
  });

  it('takes what millrace syncs view prints', async () => {
    const { out } = await millrace(['syncs', 'view', 'Buyers']);
    expect(out).toMatch(/^# syn_\w+\n# active\n\s*name: Buyers$/m);
    expect(out).toMatch(/^ {2}connection: Shop$/m);
    expect(out).toMatch(/^ {2}sor: CRM$/m);
    expect(await millrace(['sync', 'diff', '-'], out)).toMatchObject({ status: 0, out: 'unchanged: 1 sync\n' });
  });

  it('names the connections that get alerts, as it names a source, and tells which is none', async () => {
    await ask(stack.app, world, 'POST', '/api/connections', {
      name: 'Ops chat',
      connector: 'slack',
      settings: { url: 'https://chat.example.com/hooks/zqclihook' },
    });
    const path = await file(
      'alerts.yaml',
      ...buyers('Buyers', 'removal_limit: 30', 'alerts:', '  connections: [Ops chat]'),
    );
    expect((await millrace(['sync', 'apply', path])).out).toMatch(/^changed: Buyers /m);
    const { out } = await millrace(['syncs', 'view', 'Buyers']);
    expect(out).toMatch(/^ {2}connections:\n {4}- Ops chat$/m);
    expect(await millrace(['sync', 'diff', '-'], out)).toMatchObject({ status: 0, out: 'unchanged: 1 sync\n' });
    const wrong = await file(
      'alerts.yaml',
      ...buyers('Buyers', 'alerts:', '  connections: [Ops chat, Ops chatt, Shop]'),
    );
    const { err } = await millrace(['sync', 'validate', wrong]);
    expect(err).toContain(':9:27: alerts.connections.1: Ops chatt is no connection: did you mean Ops chat?');
    expect(await millrace(['connections', 'streams', 'Ops chat'])).toMatchObject({
      status: 1,
      err: 'The connection is of slack, which only takes alerts: it has no streams\n',
    });
  });
});

describe('millrace sync validate', () => {
  beforeAll(newWorld);

  it('says how many syncs are right, and makes none', async () => {
    const path = await file('right.yaml', ...buyers('Buyers'));
    expect(await millrace(['sync', 'validate', path])).toEqual({ status: 0, out: 'valid: 1 sync\n', err: '' });
    expect(await syncs()).toEqual([]);
  });

  it('tells all that is wrong in all files with its line and column, and nothing is applied', async () => {
    const right = await file('right.yaml', ...buyers('Buyers'));
    const wrong = await file(
      'wrong.yaml',
      'name: Mapped wrongly',
      'source: { connection: Shop, stream: buyers }',
      'destination: { sor: CRM }',
      'maping: {}',
      'mapping:',
      '  fields:',
      '    - from: born',
      '      as: date',
      '      formt: dd/MM/yyyy',
      '      decimal: ","',
      'mode: sometimes',
      '---',
      ...buyers('Nowhere').map((line) => line.replace('sor: CRM', 'sor: CRN')),
      '---',
      ...buyers('Buyers', 'removes: true', 'mode: incremental', 'cursor_field: changed'),
    );
    const { status, err } = await millrace(['sync', 'validate', right, wrong]);
    expect(status).toBe(1);
    expect(err.split('\n')).toEqual([
      `${wrong}:4:1: maping: is unknown: did you mean mapping?`,
      `${wrong}:9:7: mapping.fields.0.formt: is unknown: did you mean format?`,
      `${wrong}:10:7: mapping.fields.0.decimal: applies to as: number, not to date`,
      `${wrong}:11:1: mode: must be one of full, incremental`,
      `${wrong}:15:16: destination.sor: CRN is no System of Records: did you mean CRM?`,
      `${wrong}:21:1: name: Buyers is the name of the sync at ${right}:1:1 already`,
      `${wrong}:28:1: removes: is of full readings with this source: its incremental ones cannot tell what has vanished`,
      '',
    ]);
    expect((await millrace(['sync', 'apply', right, wrong])).status).toBe(1);
    expect(await syncs()).toEqual([]);
  });

  it('tells what does not go together beside what is no value of its member, and beside names that nothing has', async () => {
    const path = await file(
      'both.yaml',
      'name: Both',
      'source: { connection: Shoop, stream: buyers }',
      'destination: { sor: CRN }',
      'mapping:',
      '  fields:',
      '    - { from: born, as: date, format: DD/MM/YYYY }',
      '    - { from: tariff, as: text }',
      'removal_limit: 101',
      'schedule: { cron: "0 25 * * *" }',
      '---',
      'nmae: Together',
      'source: { connection: Shoop, stream: buyers }',
      'destination: { sor: CRM }',
      'mapping: { fields: [{ from: tariff, to: plan }] }',
      'mode: incremental',
      'removes: true',
      'on_schema_change: follow',
    );
    const { status, err } = await millrace(['sync', 'validate', path]);
    expect(status).toBe(1);
    expect(err.split('\n').map((line) => line.slice(path.length))).toEqual([
      ':2:11: source.connection: Shoop is no connection: did you mean Shop?',
      ':3:16: destination.sor: CRN is no System of Records: did you mean CRM?',
      expect.stringMatching(/^:6:31: mapping\.fields\.0\.format: .*: did you mean dd\/MM\/yyyy\?/),
      ':7:23: mapping.fields.1.as: must be one of string, number, boolean, date, datetime, set',
      ':8:1: removal_limit: must be a whole number from 0 to 100',
      expect.stringMatching(/^:9:13: schedule\.cron: the hour can't be 25/),
      ':11:1: nmae: is unknown: did you mean name?',
      ':11:1: name: is required, in words: a sync is known by it',
      ':12:11: source.connection: Shoop is no connection: did you mean Shop?',
      ':14:1: mapping.customer: is missing: attributes are of a customer',
      ':16:1: removes: is of full readings with this source: its incremental ones cannot tell what has vanished',
      '',
    ]);
  });

  it('names the entry of a mapping that the server refuses', async () => {
    const path = await file(
      'mapping.yaml',
      ...buyers(
        'Buyers',
        '    - from: born',
        '      as: date',
        '      decimal: ","',
        '    - from: tariff',
        '      to: plan',
      ),
    );
    const { err } = await millrace(['sync', 'validate', path]);
    expect(err.split('\n')).toEqual([
      `${path}:10:7: mapping.fields.1.decimal: applies to as: number, not to date`,
      `${path}:12:7: mapping.fields.2.to: is "plan", as that of mapping.fields.0 is`,
      '',
    ]);
  });

  it('refuses what is no YAML of a sync', async () => {
    const cases: [RegExp, string[]][] = [
      [/:2:1: Map keys must be unique/, ['name: A', 'name: B']],
      [/:2:1: Missing closing "quote/, ['name: "A']],
      [/:1:1: is no sync: write its members/, ['- name: A']],
      [/:1:1: has no sync$/m, ['# nothing', '---', '']],
      [/:1:1: name: is required/, buyers('42')],
      [/:9:16: this number can't be sent as it is/, buyers('Buyers', 'mode: full', 'removal_limit: .inf')],
      [
        /:2:11: source.connection: Shoop is no connection: did you mean Shop\?/,
        buyers('A').map((line) => line.replace('Shop', 'Shoop')),
      ],
      [/:1:7: Unresolved tag/, ['name: !secret A']],
      [/: Unresolved alias/, ['name: A', 'source: *nothing']],
    ];
    for (const [words, lines] of cases) {
      const { status, out, err } = await millrace(['sync', 'validate', await file('bad.yaml', ...lines)]);
      expect(err).toMatch(words);
      expect(err).not.toContain('    at ');
      expect([status, out]).toEqual([1, '']);
    }
    const absent = await millrace(['sync', 'validate', join(folder, 'no.yaml')]);
    expect(absent).toMatchObject({
      status: 1,
      err: expect.stringMatching(/no\.yaml cannot be read \(ENOENT\)/) as string,
    });
  });

  it('asks which is meant where two have the same name', async () => {
    const other = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/system_of_records', {
      name: 'CRM',
    });
    const path = await file('which.yaml', ...buyers('Buyers'));
    const { err } = await millrace(['sync', 'validate', path]);
    expect(err).toMatch(/CRM is the name of 2 Systems of Records: write which of sor_?\w+, \w+/);
    const named = await file('which.yaml', ...buyers('Buyers').map((line) => line.replace('CRM', other.identifier)));
    expect((await millrace(['sync', 'validate', named])).status).toBe(0);
    await ask(stack.app, world, 'DELETE', `/api/system_of_records/${other.identifier}`);
  });
});
