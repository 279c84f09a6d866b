import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { commandLinePage } from '../../../cli/command-line-page.ts';
import { buildProgram, leavesOf } from '../../../cli/program.ts';
import { write } from '../../../store/core/database.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertSampleEvents } from '../../harness/analytics/sample-events.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { insertSampleCampaign, insertSampleDevice } from '../../harness/sends/campaigns.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertSampleSend } from '../../server/sends/sample-sends.ts';
import { testServer } from '../../server/http/test-server.ts';
import { runMillrace, startMillrace } from './run-millrace.ts';

let store: TestStore;
let url: string;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  url = await (await testServer(store)).app.listen({ port: 0, host: '127.0.0.1' });
});

function millrace(args: string[], env: NodeJS.ProcessEnv = {}) {
  return runMillrace(args, { url, token: world.token, env });
}

async function json(args: string[]): Promise<unknown> {
  const { status, out } = await millrace([...args, '--json']);
  expect(status).toBe(0);
  return JSON.parse(out);
}

describe('millrace sends', () => {
  it('lists the requests of a campaign, shows one with its balance, each message of it, why, and what the provider said', async () => {
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.requests');
    const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id);
    const of = { appId: app.id, campaignIdentifier: campaign.identifier, userId: personId(4), deviceId: 'phone 4' };
    const { requestId } = await write(store.db, (tx) => insertSampleSend(tx, world.entity.id, of));
    expect((await millrace(['sends', 'list', campaign.identifier])).out).toMatch(
      new RegExp(`^${requestId} +accepted .* 1 +1 +0 +1 +0 +0$`, 'm'),
    );
    expect((await millrace(['sends', 'view', requestId])).out).toContain(
      '1 pushes left = 0 confirmed + 1 taken + 0 unknown + 0 refused',
    );
    const list = (outcome: string) => json(['sends', 'decisions', requestId, '--outcome', outcome]);
    expect(await list('taken')).toMatchObject([{ line: 1, user: personId(4), code: 'PUSH_SENT' }]);
    expect(await list('unknown')).toEqual([]);
    expect((await millrace(['sends', 'why', personId(4), campaign.identifier])).out).toMatch(
      /^person +known +stops +no device has the app$/m,
    );
    expect((await millrace(['push', 'outcomes', app.identifier])).out).toMatch(/^reachable +0$/m);
    expect((await millrace(['push', 'view', app.identifier])).out).toMatch(/^android +sandbox/m);
    expect(await json(['sends', 'cancel', requestId])).toMatchObject({ requestId });
  });
});

describe('millrace sors', () => {
  it('makes, lists, shows, renames, disables and deletes one by its name', async () => {
    expect((await millrace(['sors', 'add', 'Shop'])).out).toMatch(/^sor_\w+ +Shop +custom +0$/m);
    expect((await millrace(['sors'])).out).toContain('Shop');
    const shop = (await json(['sors', 'view', 'Shop'])) as { identifier: string };
    const [key] = (await json(['sors', 'keys', shop.identifier])) as [string];
    rememberSecret(key);
    expect((await millrace(['sors', 'keys', shop.identifier])).out).toBe(`${key}\n`);
    for (const args of [
      ['sors', 'view', 'Shop'],
      ['sors', 'view', 'Shop', '--json'],
      ['sors', '--json'],
    ]) {
      expect((await millrace(args)).out).not.toContain(key);
    }
    expect((await millrace(['sors', 'rename', 'Shop', 'Store'])).out).toContain('Store');
    expect((await millrace(['sors', 'disable', 'Store'])).out).toBe('disabled\n');
    expect((await millrace(['sors'])).out).toMatch(/Store +custom +disabled/);
    expect((await millrace(['sors', 'enable', 'Store'])).out).toBe('enabled\n');
    expect((await millrace(['sors', 'notify', 'Store', 'ada@example.com'])).out).toBe('ada@example.com\n');
    expect((await millrace(['sors', 'notify', 'Store', '--creator'])).out).toBe('its creator\n');
    expect((await millrace(['sors', 'remove', 'Store'])).err).toMatch(
      /^This would delete the System of Records Store \(sor_\w+\)/,
    );
    expect(await json(['sors', 'remove', 'Store', '--yes'])).toBe(null);
    expect((await millrace(['sors', 'view', 'Store'])).err).toMatch(/^Store is no System of Records: did you mean /);
  });

  it('asks which one is meant of several with one name', async () => {
    await millrace(['sors', 'add', 'Twin']);
    await millrace(['sors', 'add', 'Twin']);
    const { status, err } = await millrace(['template', '--sor', 'Twin']);
    expect(err).toMatch(/^Twin is the name of 2 Systems of Records: write which of sor_\w+, sor_\w+$/m);
    expect(status).toBe(1);
  });
});

/** Ends the test of a campaign as a worker does, once it is asked for: a device got the push. */
async function finishTest(campaign: string, user: string, device: string): Promise<true | null> {
  const { rowCount } = await store.db.query(
    `WITH ended AS (
       UPDATE sends s SET state = 'finished', ended_at = now() FROM send_campaigns n, campaigns c
       WHERE s.entity_id = $1 AND n.entity_id = $1 AND n.send_id = s.id AND c.entity_id = $1 AND c.id = n.campaign_id
         AND c.test_of = $2 RETURNING s.id AS send_id, c.id AS campaign_id, c.app_id)
     INSERT INTO attempts (entity_id, campaign_id, app_id, send_id, message_ordinal, channel, state, code, settled_at, device_id, user_id)
     SELECT $1, campaign_id, app_id, send_id, 0, 'push', 'settled', 'PUSH_SENT', now(), $4, $3 FROM ended`,
    [world.entity.id, campaign, user, device],
  );
  return rowCount === 1 ? true : null;
}

describe('millrace campaigns', () => {
  it('makes a draft of a file, counts and plans it, launches it for as many people as were said, and shows results', async () => {
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.commands');
    await insertSampleDevice(store.db, world.entity.id, app.id, 'phone', { userId: 'ada' });
    await insertSampleDevice(store.db, world.entity.id, app.id, 'shy', { userId: 'bob', optIn: false });
    const folder = await mkdtemp(join(tmpdir(), 'millrace-campaigns-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'news.json');
    const news = {
      name: 'News',
      type: 'classic',
      source: 'API',
      app_id: app.identifier,
      includes_push: true,
      includes_inapp: false,
      start_date: 'now',
      params: { push_message: 'News' },
    };
    await writeFile(file, JSON.stringify(news));
    const id = (await millrace(['campaigns', 'create', file])).out.trim();
    expect((await millrace(['campaigns'])).out).toMatch(new RegExp(`^${id} +News +classic +Draft`, 'm'));
    await writeFile(file, JSON.stringify({ ...news, name: 'Newer', revision: 1 }));
    expect((await millrace(['campaigns', 'update', id, file])).out).toMatch(/^name +Newer$/m);
    expect((await millrace(['campaigns', 'update', id, file])).err).toContain('revision 2');
    expect((await millrace(['campaigns', 'audience', id])).out).toMatch(
      /^1 people get it, on 2 devices of 2 people: 2 = 1 by push \+ 0 in the app only \+ 1 held back\n(.*\n)*1 +OPT_OUT +pushes are turned off$/m,
    );
    expect((await millrace(['campaigns', 'plan', id])).out).toContain('Europe/Paris');
    const previewed = await millrace(['campaigns', 'preview', id, '--user', 'ada']);
    expect(previewed.out).toMatch(/^ios +\d+ of 4096 /m);
    expect((await millrace(['campaigns', 'tests', id])).out).toBe('It was not tested in the last 30 days.\n');
    const tested = millrace(['campaigns', 'test', id, 'ada']);
    await waitFor('the test to be asked for', () => finishTest(id, 'ada', 'phone'));
    expect((await tested).out).toMatch(/^ada +phone +PUSH_SENT +the provider took the push$/m);
    expect((await millrace(['campaigns', 'tests', id])).out).toMatch(/  finished  [^]*^ada +phone +PUSH_SENT /m);
    const asked = await millrace(['campaigns', 'launch', id]);
    expect([asked.status, asked.err]).toEqual([1, expect.stringContaining(`campaigns launch ${id} --expect 1`)]);
    expect((await millrace(['campaigns', 'launch', id, '--expect', '0'])).err).toContain('go to 1 people now');
    expect((await millrace(['campaigns', 'launch', id, '--expect', '1'])).out).toBe('Newer is launched: Scheduled\n');
    expect(await json(['campaigns', 'show', id])).toMatchObject({
      expected_people: 1,
      launched_by: { id: world.user.id },
    });
    expect((await millrace(['campaigns', 'results', id])).out).toMatch(/^messages +0$/m);
    expect((await millrace(['campaigns', 'cancel', id])).out).toBe('Newer: Canceled\n');
    const copy = (await millrace(['campaigns', 'duplicate', id])).out.trim();
    expect(await json(['campaigns', 'delete', copy, '--yes'])).toBe(null);
  });
});

describe('millrace attributes', () => {
  it('defines, lists, changes and deletes one by its key', async () => {
    await millrace(['sors', 'add', 'Fields']);
    expect((await millrace(['attributes', 'add', 'Fields', 'size', '--type', 'Number'])).out).toMatch(
      /^\S+ +size +Number +size$/m,
    );
    expect((await millrace(['attributes', 'Fields'])).out).toContain('size');
    expect(await json(['attributes', 'list', 'Fields'])).toEqual([expect.objectContaining({ key: 'size' })]);
    const changed = await millrace(['attributes', 'update', 'Fields', 'size', '--label', 'Shoe size', '--disable']);
    expect(changed.out).toMatch(/disabled +Shoe size/);
    expect((await millrace(['attributes', 'view', 'Fields', 'size'])).out).toContain('Shoe size');
    const guessed = () =>
      store.db.query(`UPDATE customer_attributes SET is_guessed = true WHERE entity_id = $1 AND key = 'size'`, [
        world.entity.id,
      ]);
    const retyped = (type: string) => millrace(['attributes', 'update', 'Fields', 'size', '--type', type]);
    await guessed();
    expect((await millrace(['attributes', 'Fields'])).out).toMatch(/size +Number +disabled, guessed/);
    expect((await retyped('Number')).out).toMatch(/size +Number +disabled +Shoe size/);
    expect((await retyped('String')).err).toContain('must be Number');
    await guessed();
    expect((await retyped('Boolean')).err).toContain('must be Number or String');
    expect((await retyped('String')).out).toMatch(/size +String +disabled +Shoe size/);
    expect((await millrace(['attributes', 'view', 'Fields', 'sise'])).err).toBe(
      'Fields has no attribute sise: did you mean size?\n',
    );
    expect((await millrace(['attributes', 'add', 'Fields', 'x', '--type', 'Colour'])).err).toContain(
      'Allowed choices are',
    );
    expect((await millrace(['attributes', 'remove', 'Fields', 'size', '--yes'])).status).toBe(0);
    expect(await json(['attributes', 'Fields'])).toEqual([]);
  });
});

describe('millrace funnels', () => {
  it('stores one of a file, counts it, lists its people and what they did, archives and restores it', async () => {
    const { entity } = world;
    const app = await insertSampleApp(store.db, entity.id, 'com.example.funnel-cli');
    const at = (minute: number) => new Date(Date.parse('2026-11-05T12:00:00Z') + minute * 60_000);
    await ensurePartitions(store.db, [at(0)]);
    const names = ['Viewed', 'Added', 'Ordered'];
    await insertEventDefinitions(
      store.db,
      entity.id,
      app.id,
      names.map((name) => ({ logType: 2, name })),
    );
    await insertSampleEvents(store.db, entity.id, [
      ...['cli-ann', 'cli-ben'].map((user) => ({ appId: app.id, user, at: at(0), name: 'Viewed' })),
      { appId: app.id, user: 'cli-ann', at: at(2), name: 'Ordered' },
      { appId: app.id, user: 'cli-ben', at: at(3), name: 'Added' },
    ]);
    const folder = await mkdtemp(join(tmpdir(), 'millrace-funnels-'));
    onFileEnd(() => rm(folder, { recursive: true }));
    const file = join(folder, 'funnel.json');
    const step = (name: string) => ({ match_name: [{ app_id: app.identifier, log_type: 2, log_name: name }] });
    await writeFile(file, JSON.stringify({ name: 'Sale', steps: [step('Viewed'), step('Ordered')] }));
    expect((await millrace(['funnels', 'create', file])).out).toMatch(/^fun_\w+ +Sale +Viewed, Ordered$/m);
    const period = ['--from', '2026-11-05', '--till', '2026-11-05'];
    const counted = (await millrace(['funnels', 'count', 'Sale', ...period])).out;
    expect(counted).toMatch(/^0 +Viewed +2 +100.0 %$/m);
    expect(counted).toMatch(/^1 +Ordered +1 +50.0 % +50.0 % +120.0 s +120.0 s$/m);
    expect(await json(['funnels', 'count', 'Sale', ...period, '--fast', '--by', 'week'])).toMatchObject([
      { breakdown: '2026-11-02', completions: 2, exact: true },
      { breakdown: '2026-11-02', completions: 1 },
    ]);
    const people = ['funnels', 'people', 'Sale', ...period, '--step', '1'];
    expect((await millrace(people)).out).toContain('cli-ann');
    expect((await millrace([...people, '--dropped'])).out).toMatch(/^cli-ben +2026-11-05T12:00:00.000Z$/m);
    expect((await millrace(['funnels', 'people', 'Sale'])).err).toBe('Name the step: --step 1\n');
    const explored = await millrace(['funnels', 'explore', 'Sale', ...period, '--after', '0', '--dropped']);
    expect(explored.out).toMatch(/^Added +1 +180.0 s$/m);
    expect((await millrace(['funnels', 'archive', 'Sale'])).out).toContain('archived');
    expect((await millrace(['funnels', 'restore', 'Sale'])).out).not.toContain('archived');
    const copy = JSON.parse((await millrace(['funnels', 'view', 'Sale'])).out) as { name: string };
    await writeFile(file, JSON.stringify({ ...copy, name: 'Another sale' }));
    await millrace(['funnels', 'create', file]);
    expect((await millrace(['funnels'])).out).toMatch(/Sale[^]*Another sale/);
    expect((await millrace(['funnels', 'count', 'Sail'])).err).toContain('did you mean Sale?');
  });
});

/** Expects what `usage` prints of an app that has sent two events of one person, one of which was a crash. */
async function expectUsage(app: string, crash: string): Promise<void> {
  const usage = async (...args: string[]) => (await millrace(['usage', ...args])).out;
  expect(await usage('days', app)).toMatch(/^[\d-]{10} +2 +\d +1 +1 +0$[^]*\n1 people in these days\n$/m);
  expect(await usage('kinds', app)).toMatch(/^1 +\d +2 +Came$/m);
  expect(await usage('values', app, 'Opened')).toBe('no values\n');
  expect(await usage('crash', crash)).toMatch(/^identifier +crs_\w+$[^]*^[\d-]{10} +1$/m);
  expect(await usage('events', app, '--user', personId(401))).toMatch(/Application Crashed[^]*Opened/);
  const [event] = (await json(['usage', 'events', app, '--name', 'Opened'])) as { event_id: string }[];
  expect(await usage('event', app, event!.event_id)).toMatch(/^name +Opened$/m);
  expect(await json(['usage', 'sessions', app])).toMatchObject([{ user_id: personId(401) }]);
  for (const list of ['devices', 'locations']) expect(await json(['usage', list, app])).toEqual([]);
  await store.db.query(
    `INSERT INTO locations (entity_id, app_id, happened_at, device_id, latitude, longitude)
     SELECT entity_id, id, now(), 'phone', 48.85, -2.5 FROM apps WHERE entity_id = $1 AND name = $2`,
    [world.entity.id, app],
  );
  expect(await usage('locations', app, '--device', 'phone')).toMatch(/^[\dT:-]+ +48\.85 +-2\.5 +phone$/m);
  expect((await millrace(['usage', 'days', app, '--from', 'noon'])).err).toContain('--from takes a day in UTC');
}

describe('millrace apps and labels', () => {
  it('makes an app and its keys, and changes them', async () => {
    const app = ['--package', 'com.example.cli', '--type', 'iOS App'];
    const added = await millrace(['apps', 'add', 'Cli app', ...app]);
    expect(added.out).toMatch(/ +Cli app +iOS App +com\.example\.cli$/m);
    expect(added.err).toContain('set verified_users');
    expect((await millrace(['apps', 'view', 'Cli app'])).out).toMatch(/^default_tz +Europe\/Paris$/m);
    expect((await millrace(['apps', 'update', 'Cli app', '--name', 'Shop app', '--zone', 'Asia/Tokyo'])).out).toContain(
      'Shop app',
    );
    expect(await json(['apps', 'view', 'Shop app'])).toMatchObject({ name: 'Shop app', default_tz: 'Asia/Tokyo' });
    const settings = join(await mkdtemp(join(tmpdir(), 'millrace-apps-')), 'settings.json');
    onFileEnd(() => rm(dirname(settings), { recursive: true }));
    await writeFile(settings, '{ "revision": 1, "sku": "CLI" }');
    expect((await millrace(['apps', 'update', 'Shop app', '--settings', settings])).err).toContain(
      'it has revision 2, and your change is of revision 1',
    );
    const key = (await json(['apps', 'keys', 'add', 'Shop app'])) as { identifier: string; api_key: string };
    rememberSecret(key.api_key);
    expect((await millrace(['apps', 'keys', 'revoke', 'Shop app', key.identifier])).out).toContain('revoked');
    expect((await millrace(['apps', 'keys', 'restore', 'Shop app', key.identifier])).out).not.toContain('revoked');
    expect(await json(['apps', 'keys', 'Shop app'])).toEqual([expect.objectContaining({ identifier: key.identifier })]);
    const headers = {
      authorization: `Basic ${Buffer.from(`${key.api_key}:`).toString('base64')}`,
      'content-type': 'application/json',
    };
    for (const event of ['Opened', '', 'Application Crashed']) {
      await fetch(`${url}/v1/track`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ userId: personId(401), event }),
      });
    }
    const said = await waitFor('both calls to show', async () => {
      const { out } = await millrace(['apps', 'tail', 'Shop app', '--once']);
      return out.split('\n').length === 4 ? out : null;
    });
    expect(said).toMatch(/^[\d:]+ accepted .*"event":"Opened".*\n[\d:]+ refused \(\w+: .+\) .*\n[\d:]+ accepted .*\n$/);
    expect(await json(['apps', 'tail', 'Shop app', '--once'])).toMatchObject([
      { outcome: 'accepted' },
      { outcome: 'refused' },
      { outcome: 'accepted' },
    ]);
    const followed = startMillrace(['apps', 'tail', 'Shop app', '--json'], { url, token: world.token });
    const lines = await waitFor('a document for each call', async () => {
      const whole = followed.said.out.split('\n').slice(0, -1);
      return whole.length === 3 ? whole : null;
    });
    followed.child.kill();
    await followed.ended;
    expect(lines.map((line) => (JSON.parse(line) as { outcome: string }).outcome)).toEqual([
      'accepted',
      'refused',
      'accepted',
    ]);
    const events = (await json(['apps', 'events', 'Shop app'])) as { identifier: number; name: string }[];
    expect(events.map(({ name }) => name)).toEqual(['Opened', 'Application Crashed']);
    expect((await millrace(['apps', 'counts', 'Shop app', '--days', '1'])).out).toMatch(
      /^[\d-]+ +3 +2 +0 +1\nlast call /m,
    );
    expect((await millrace(['apps', 'refused', 'Shop app', '--code', 'invalid'])).out).toMatch(
      / invalid: event: .*\n {2}Give the event a name\.\n {2}- analytics\.track\(.*\n {2}\+ .*'<name of the event>'/,
    );
    const named = ['apps', 'events', 'name', 'Shop app', String(events[0]!.identifier), '--name', 'Came', '--goal'];
    expect((await millrace([...named, '--label', 'shop'])).out).toMatch(/ Opened +Came +goal +shop$/m);
    expect((await millrace(['labels', 'remove', 'shop', '--yes'])).status).toBe(0);
    expect((await millrace(['apps', 'certificates', 'Shop app'])).out).toMatch(/^identifier/);
    const [crash] = (await json(['apps', 'crashes', 'list', 'Shop app'])) as { identifier: string }[];
    await expectUsage('Shop app', crash!.identifier);
    expect((await millrace(['apps', 'crashes', 'remove', 'Shop app', crash!.identifier, '--yes'])).status).toBe(0);
    expect(
      (await millrace(['apps', 'events', 'remove', 'Shop app', String(events[0]!.identifier), '--yes'])).status,
    ).toBe(0);
    expect(await json(['apps', 'crashes', 'Shop app'])).toEqual([]);
    expect(await json(['apps', 'events', 'Shop app'])).toMatchObject([{ name: 'Application Crashed' }]);
    expect((await millrace(['apps', 'view', 'Shop ap'])).err).toMatch(/^Shop ap is no app: did you mean /);
    expect((await millrace(['apps', 'groups', 'add', 'Shops', '--app', 'Shop app'])).out).toMatch(/ Shops +app_\w+$/m);
    expect((await millrace(['apps', 'groups', 'remove', 'Shops', '--yes'])).status).toBe(0);
    expect(await json(['apps', 'groups'])).toEqual([]);
    const { identifier, secret } = (await json(['apps', 'token-keys', 'add', 'Shop app'])) as Record<string, string>;
    rememberSecret(secret!);
    expect((await millrace(['apps', 'token-keys', 'Shop app'])).out).toContain(secret);
    expect((await millrace(['apps', 'token-keys', 'remove', 'Shop app', identifier!, '--yes'])).status).toBe(0);
    expect(await json(['apps', 'token-keys', 'Shop app'])).toEqual([]);
  });

  it('sets the data wallet of an app from a file, as it prints it', async () => {
    await millrace(['apps', 'add', 'Wallet app', '--package', 'com.example.wallet', '--type', 'Web App']);
    const file = join(await mkdtemp(join(tmpdir(), 'millrace-wallet-')), 'wallet.json');
    onFileEnd(() => rm(dirname(file), { recursive: true }));
    const set = (...more: string[]) => millrace(['apps', 'wallet', 'set', 'Wallet app', file, ...more]);
    const wallet = {
      languages: ['en', 'fr'],
      legal_texts: [{ technical_name: 'notice', title: { en: 'Your data' }, text: { en: 'Little.' } }],
      categories: [{ technical_name: 'shopping', title: { en: 'Shopping', fr: 'Achats' }, description: {} }],
      recipients: [
        {
          technical_name: 'crm',
          display_name: 'Our CRM',
          data_elements: [
            { technical_name: 'orders', display_name: 'Orders', data_category: { technical_name: 'shopping' } },
          ],
        },
      ],
      purposes: [
        {
          technical_name: 'letter',
          title: { en: 'Newsletter' },
          description: {},
          data_elements: [{ technical_name: 'orders', recipient: { technical_name: 'crm' } }],
        },
      ],
    };
    await writeFile(file, JSON.stringify(wallet));
    expect((await set()).out).toBe('4 made, 0 set, 0 deleted\n');
    expect(await json(['apps', 'wallet', 'view', 'Wallet app'])).toEqual(wallet);
    expect((await millrace(['apps', 'wallet', 'Wallet app'])).out).toMatch(/^legal texts +notice +fr$/m);
    await writeFile(file, JSON.stringify({ ...wallet, recipients: [], purposes: [] }));
    expect((await set()).out).toBe('0 made, 2 set, 0 deleted\n');
    expect((await set('--prune')).out).toBe('0 made, 2 set, 2 deleted\n');
    expect(await json(['apps', 'wallet', 'Wallet app'])).toEqual({ ...wallet, recipients: [], purposes: [] });
    await writeFile(file, '{ "legal": [] }');
    expect((await set()).err).toContain('"legal" is no member of a wallet');
  });

  it('makes, renames and deletes a label', async () => {
    expect((await millrace(['labels', 'add', 'Spring'])).out).toMatch(/^Spring +0 /m);
    expect((await millrace(['labels', 'rename', 'Spring', 'Summer'])).status).toBe(0);
    expect(await json(['labels'])).toEqual([expect.objectContaining({ name: 'Summer' })]);
    expect((await millrace(['labels', 'remove', 'Summer'])).err).toContain('add --yes');
    expect((await millrace(['labels', 'remove', 'Summer', '--yes'])).status).toBe(0);
  });
});

describe('millrace audit and entities', () => {
  it('reads the audit log by action, as a table, JSON or CSV', async () => {
    await millrace(['labels', 'add', 'Audited']);
    expect((await millrace(['audit', '--action', 'create'])).out).toContain('label');
    expect(await json(['audit', '--action', 'create', '--limit', '1'])).toEqual([
      expect.objectContaining({ action: 'create' }),
    ]);
    expect((await millrace(['audit', '--csv'])).out).toMatch(/^[a-z_,]+\r?\n/);
    expect((await millrace(['audit', '--limit', 'many'])).err).toContain('--limit takes a whole number');
    expect((await millrace(['audit', '--since', 'noon'])).err).toContain('from');
  });

  it('gives a new entity the time zone of the machine, or the one given', async () => {
    await store.db.query('UPDATE users SET superadmin = true');
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    expect(await json(['entities', 'add', 'Branch'])).toMatchObject({ name: 'Branch', default_tz: own });
    expect(await json(['entities', 'add', 'Tokyo', '--zone', 'Asia/Tokyo'])).toMatchObject({
      default_tz: 'Asia/Tokyo',
    });
    expect((await millrace(['entities', 'add', 'Nowhere', '--zone', 'Nowhere'])).err).toContain('default_tz');
    expect((await millrace(['entities', 'update', 'Branch', '--no-active', '--zone', 'UTC'])).out).toMatch(
      /inactive +UTC/,
    );
    const keys = (await millrace(['entities', 'keys', 'Tokyo'])).out.trimEnd().split('\n');
    expect(keys.map((key) => key.length > 16)).toEqual([true, true]);
    for (const args of [
      ['entities', 'view', 'Tokyo'],
      ['entities', 'view', 'Tokyo', '--json'],
      ['entities', '--json'],
    ]) {
      const { out } = await millrace(args);
      for (const key of [...keys, 'prod_api_key']) expect(out).not.toContain(key);
    }
    expect((await millrace(['entities', 'remove', 'Branch', '--yes'])).status).toBe(0);
    expect((await millrace(['entities'])).out).not.toContain('Branch');
  });
});

describe('millrace people', () => {
  it('finds and views a person, and says that another is unknown', async () => {
    const id = personId(402);
    expect((await millrace(['people', 'view', id])).out).toContain('unknown');
    expect((await millrace(['people', 'find', id])).out).toBe('no person was found\n');
    expect(await json(['people', 'timeline', id])).toEqual([]);
    expect((await millrace(['people', 'messages', id])).out).toBe('no messages\n');
    expect((await millrace(['people', 'messages', id, '--limit', '0'])).err).toContain('--limit takes a whole number');
    expect(await json(['people', 'find', personId(401)])).toMatchObject({ people: [{ user_id: personId(401) }] });
    expect((await millrace(['people', 'view', personId(401)])).out).toMatch(/^events +2$/m);
    expect((await millrace(['people', 'timeline', personId(401), '--limit', '1'])).out).toMatch(
      /^[\d:T-]+ +session +\S+ +\d+ s, \d+ events$/m,
    );
  });
});

describe('the command itself', () => {
  it('prints its version, and completes names and options', async () => {
    expect((await millrace(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
    const run = (args: string[]) => startMillrace(args, { url, token: world.token }).ended;
    expect((await run(['completion', 'bash'])).out).toContain('millrace complete --');
    expect((await run(['complete', '--', 'attributes', 'a'])).out).toMatch(/^add\t/m);
    expect((await run(['completion', 'tcsh'])).err).toContain('Allowed choices are');
  });

  it('names itself in hints as it was called, and fits the terminal', async () => {
    const byNpx = { npm_command: 'exec', npm_lifecycle_event: 'npx' };
    const refused = (env: NodeJS.ProcessEnv) => runMillrace(['sors'], { url, token: 'none', env });
    expect((await refused(byNpx)).err).toContain('`npx --no-install millrace login`');
    expect((await refused({ npm_command: 'test' })).err).toContain('`millrace login`');
    await millrace(['sors', 'add', 'A name that takes much more than a narrow terminal has']);
    const { out } = await millrace(['sors'], { COLUMNS: '40' });
    expect(out.split('\n').filter((line) => line.length > 40)).toEqual([]);
  });

  it('prints one JSON document with --json, and nothing else, whatever the command', async () => {
    const own = await makeWorld(store);
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [own.user.id]);
    const app = await insertSampleApp(store.db, own.entity.id, 'com.example.json');
    const exporter = await storedExporter(store.db, store.secrets, own, {
      endpoint: 'http://127.0.0.1:9',
      appIds: [app.id],
    });
    const given: Record<string, string> = {
      sor: own.sor.identifier,
      attribute: 'plan',
      app: app.identifier,
      exporter: exporter.identifier,
      email: 'json@example.com',
      user: personId(1),
      entity: own.entity.identifier,
      id: personId(1),
      name: 'Json',
      label: 'Json',
      key: 'json',
      connector: 'sandbox',
      settings: '{}',
      package: 'com.example.json2',
      from: '2026-01-01',
      to: '2026-01-02',
      reason: 'a case',
      rights: 'sor_manage',
      days: '1',
    };
    const leaves = leavesOf(await buildProgram(async () => {}, { version: '0' }));
    const commands = leaves
      .filter(({ options }) => options.some(({ long }) => long === '--json'))
      .map((command) => {
        const path: string[] = [];
        for (let at = command; at.parent; at = at.parent) path.unshift(at.name());
        const names = new Set(command.options.map(({ long }) => long));
        const needed = command.options
          .filter(({ mandatory }) => mandatory)
          .flatMap((option) => [option.long!, option.argChoices?.[0] ?? given[option.name()] ?? 'unknown']);
        const flags = ['--yes', '--once', '--no-wait', '--no-email'].filter((flag) => names.has(flag));
        const values = command.registeredArguments.map(
          (argument) => given[argument.name()] ?? argument.argChoices?.[0] ?? 'unknown',
        );
        return {
          path: path.join(' '),
          args: [...path, ...values, ...needed, ...flags],
          isLast: flags.includes('--yes'),
        };
        // Removing comes last. Verifying needs a bucket, and has tests of its own.
      })
      .filter(({ path }) => path !== 'exporters verify')
      .toSorted((a, b) => Number(a.isLast) - Number(b.isLast));
    const printed: string[] = [];
    for (const { path, args } of commands) {
      const { status, out, err } = await runMillrace([...args, '--json'], { url, token: own.token });
      if (out === '') expect([path, status]).not.toEqual([path, 0]);
      else printed.push(path);
      if (status === 0) expect([path, err]).toEqual([path, '']);
      const documents = /(?:^| )errors$/.test(path) ? out.split('\n').filter(Boolean) : out === '' ? [] : [out];
      for (const document of documents)
        expect(() => ({ path, document: JSON.parse(document) as unknown })).not.toThrow();
    }
    expect(commands.length).toBeGreaterThan(85);
    expect(printed.length).toBeGreaterThan(45);
  });

  it('has its page in the docs', async () => {
    expect(await readFile(join(import.meta.dirname, '../../../docs/command-line.md'), 'utf8')).toBe(
      await commandLinePage(),
    );
  });
});

describe('millrace segments', () => {
  it('makes, counts, fills, changes and deletes one by its identifier', async () => {
    const { identifier: app } = await insertSampleApp(store.db, world.entity.id, 'com.example.segments');
    const folder = await mkdtemp(join(tmpdir(), 'millrace-segments-'));
    onFileEnd(() => rm(folder, { recursive: true }));
    const file = async (name: string, content: object) => {
      const path = join(folder, name);
      await writeFile(path, JSON.stringify(content));
      return path;
    };
    const list = await file('list.json', { app, name: 'Guests', static: true });
    const { identifier } = (await json(['segments', 'create', list])) as { identifier: string };
    expect((await millrace(['segments'])).out).toMatch(/^seg_\w+ +Guests +computing/m);
    const added = await millrace(['segments', 'add-people', identifier, personId(1), personId(2), '\u0007']);
    expect(added).toMatchObject({
      status: 1,
      out: expect.stringMatching(/^2 added, 0 were there already, 1 refused/) as string,
    });
    expect((await millrace(['segments', 'remove-people', identifier, personId(2)])).out).toContain('1 removed');
    await store.db.query('UPDATE segments SET snapshot_at = now() WHERE identifier = $1', [identifier]);
    expect(await json(['segments', 'people', identifier])).toEqual([{ user_id: personId(1), device_id: null }]);
    expect(await json(['segments', 'changes', identifier, '--left'])).toMatchObject([
      { user_id: personId(2), joined: false },
    ]);
    expect((await millrace(['segments', 'days', identifier])).out).toMatch(/ 2 +1$/m);
    expect((await millrace(['segments', 'why', identifier, personId(1)])).out).toMatch(/member +true|member +yes/);
    const change = await file('change.json', { name: 'Friends', revision: 1 });
    expect((await millrace(['segments', 'update', identifier, change])).out).toContain('Friends');
    expect((await millrace(['segments', 'update', identifier, change])).err).toContain('revision 2');
    const everybody = await file('filters.json', { blocks: [] });
    expect((await millrace(['segments', 'preview', everybody, '--app', app, '--fast'])).out).toMatch(/people +0/);
    expect((await millrace(['segments', 'show', identifier])).out).toContain('Friends');
    expect((await millrace(['segments', 'delete', identifier, '--yes'])).status).toBe(0);
  });
});
