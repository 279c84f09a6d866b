/** The pages of campaigns: a draft is saved by itself, tested, launched with the number of its people, and counted. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { messageIdOf } from '../../domain/sends/attempt.ts';
import { reportsWorkflowId } from '../../domain/jobs/workflow-id.ts';
import { flowsOver, startReports } from '../../temporal/flows.ts';
import {
  builtConsole,
  isTooWide,
  logIn,
  makePerson,
  type Tab,
  useBrowser,
  violationsOf,
} from '../harness/console/console.ts';
import { mergeAttributeValues, prepareChanges } from '../../store/attributes/merge-attribute-values.ts';
import { write } from '../../store/core/database.ts';
import { useStack } from '../harness/core/stack.ts';
import { makeWorld, type World } from '../harness/core/world.ts';
import { insertSampleDevice } from '../harness/sends/campaigns.ts';
import { testServer, type TestServer } from '../server/http/test-server.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from '../server/tracking/sample-tracking.ts';

const stack = useStack({ impatient: true });
const browser = useBrowser();
let world: World;
let app: KeyedSampleApp;
let served: TestServer;

beforeAll(async () => {
  if (browser.open === null) return;
  const { store, temporal } = stack;
  world = await makeWorld(store);
  app = await insertKeyedApp(store, world);
  served = await testServer(store, { console: await builtConsole(), ...flowsOver({ db: store.db, temporal }, 60_000) });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
  stack.startWorker();
  await insertPerson('ada');
  await insertPerson('bob', 'sandbox-unknown bob');
  await insertPerson('cia', 'sandbox-refused cia');
  await insertPerson('dan', null);
});

async function insertPerson(userId: string, token: string | null = `token of ${userId}`): Promise<void> {
  const device = { userId, token, timezone: 'Europe/Paris' };
  await insertSampleDevice(stack.store.db, world.entity.id, app.app.id, `phone of ${userId}`, device);
}

/** A device says that it got its push. */
async function confirmPush(userId: string): Promise<void> {
  const { rows } = await stack.store.db.query<{ id: number }>(
    `SELECT id FROM attempts WHERE entity_id = $1 AND user_id = $2 AND code = 'PUSH_SENT' ORDER BY id DESC LIMIT 1`,
    [world.entity.id, userId],
  );
  const reply = await served.app.inject({
    method: 'POST',
    url: '/v1/track',
    headers: basic(app.apiKey),
    payload: {
      event: 'Push Notification Received',
      userId,
      properties: { millrace_id: messageIdOf(rows[0]!.id) },
      context: { device: { id: `phone of ${userId}` } },
    },
  });
  expect(reply.statusCode).toBe(200);
}

/** How many entries the audit log has about a kind of look. */
async function looks(what: string): Promise<number> {
  const { rowCount } = await stack.store.db.query(
    `SELECT FROM audit_log WHERE entity_id = $1 AND details ->> 'what' = $2`,
    [world.entity.id, what],
  );
  return rowCount!;
}

/** Calls the API as another user of the entity. */
async function call(method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<{ result: unknown }> {
  const reply = await served.call(method, `/api/${path}`, { token: world.token, ...(body && { body }) });
  expect([path, reply.status]).toEqual([path, 200]);
  return reply.body as { result: unknown };
}

const classic = (others: object) => ({
  name: 'Plans',
  type: 'classic',
  source: 'API',
  app_id: app.app.identifier,
  includes_push: true,
  includes_inapp: false,
  start_date: 'now',
  params: { push_message: 'Hello' },
  ...others,
});

async function createCampaign(others: object): Promise<string> {
  const { result } = await call('POST', 'campaign', classic(others));
  return (result as { campaign_id: string }).campaign_id;
}

async function count(): Promise<void> {
  await startReports(stack.temporal, world.entity.id);
  await stack.temporal.workflow.getHandle(reportsWorkflowId(world.entity.id)).result();
}

async function expectSound({ page, faults }: Tab): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 900 });
  expect(await isTooWide(page)).toBe(false);
  await page.setViewportSize({ width: 1280, height: 900 });
  expect(faults).toEqual([]);
}

/** Returns a term of a balance, such as `1 unknown`. */
async function termsOf(page: Page, what: string): Promise<string[]> {
  const balance = page.getByRole('region', { name: 'Balance' }).filter({ hasText: what });
  const terms = await balance.last().locator('.term').allInnerTexts();
  return terms.map((each) =>
    each
      .replaceAll(/\s+/g, ' ')
      .replace(/^[=+] /, '')
      .trim(),
  );
}

describe.skipIf(browser.open === null)('campaigns in a browser', () => {
  const open = browser.open!;

  test('a draft is saved as it is typed, tested, refused for a grown audience, launched once, and adds up', async () => {
    const tab = await open();
    const { page } = tab;
    const { email } = await makePerson(stack.store, world);
    await logIn(tab, email, '/console/campaigns');
    await page.getByText('No campaign yet').waitFor();
    await page.getByRole('link', { name: 'New campaign' }).first().click();
    await page.getByRole('button', { name: 'Text of the push is missing' }).click();
    await expect
      .poll(() => page.evaluate<string>(`document.activeElement?.getAttribute('name')`))
      .toBe('params.push_message');
    await page.keyboard.type('We pick up from 8');
    await page.getByRole('link', { name: 'Segments', exact: true }).click();
    await page.getByRole('dialog').getByText('Name is missing').waitFor();
    await page.getByRole('button', { name: 'Stay' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Slots for tomorrow');
    await page.getByRole('button', { name: 'Review and launch' }).waitFor();

    const [saved] = (await call('GET', 'campaigns')).result as { identifier: string }[];
    await call('PUT', `campaign/${saved!.identifier}`, classic({ name: 'Theirs', params: { push_message: 'Theirs' } }));
    await page.getByLabel('Title', { exact: true }).fill('Tomorrow has free slots');
    const others = page.getByRole('alert');
    await others.getByText(`${world.user.email} changed this campaign`).waitFor();
    await others.getByText('They changed: Name, Text of the push.').waitFor();
    await others.getByRole('button', { name: 'Keep my changes' }).click();
    await others.waitFor({ state: 'detached' });
    await page.getByRole('img', { name: /^Lock screen of iOS: .*Tomorrow has free slots/ }).waitFor();
    await expectSound(tab);

    const launches: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/launch')) launches.push(request.method());
    });
    await page.getByText('nothing is sent until you launch').waitFor();
    await page.getByLabel('User ids, at most 20').fill('ada, bob');
    await page.getByRole('button', { name: 'Send a test now' }).click();
    const results = page.getByRole('list', { name: 'Results of the test' });
    await results.getByText('taken by the provider').waitFor();
    await results.getByText('unknown', { exact: true }).waitFor();
    await confirmPush('ada');
    await results.getByText('confirmed by the device').waitFor();
    expect(await looks('test')).toBe(1);
    await page.getByRole('button', { name: 'Check them' }).click();
    await page.getByText('iOS: sandbox').waitFor();

    await page.getByRole('button', { name: 'Review and launch' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('get the push').waitFor();
    expect(await termsOf(page, 'get the push')).toEqual([
      '4 people',
      '3 get the push',
      '0 only in the app',
      '1 get nothing',
    ]);
    await expectSound(tab);
    await insertPerson('eve');
    await dialog.getByRole('textbox').fill('3');
    await dialog.getByRole('button', { name: 'Launch it' }).click();
    const refusal = dialog.getByRole('alert');
    await refusal.waitFor();
    expect(await refusal.innerText()).toMatch(/4[^]*3|3[^]*4/);
    await dialog.getByRole('button', { name: 'Count again' }).click();
    await dialog.getByText('Type 4 to confirm').waitFor();
    await dialog.getByRole('textbox').fill('4');
    await dialog.getByRole('button', { name: 'Launch it' }).click();
    await page.waitForURL(/\/campaigns\/cmp_/);
    expect(launches).toEqual(['PUT', 'PUT']);

    await page.getByText('finished', { exact: true }).waitFor();
    await confirmPush('ada');
    await count();
    await expect
      .poll(() => termsOf(page, 'pushes sent'), { timeout: 30_000 })
      .toEqual(['4 pushes sent', '1 confirmed by the device', '1 taken by the provider', '1 unknown', '1 refused']);
    expect(await termsOf(page, 'devices in all')).toEqual([
      '5 devices in all',
      '4 sent a push',
      '0 waiting',
      '0 in the app alone',
      '1 not sent',
    ]);
    await page.getByRole('img', { name: /unknown 25.00 percent/ }).waitFor();
    expect(await page.evaluate<string>(`getComputedStyle(document.querySelector('.strip .f-unknown')).fill`)).toContain(
      '#hatching',
    );
    await page.getByLabel('User id', { exact: true }).fill('dan');
    await page.getByRole('button', { name: 'Ask about this person' }).click();
    await page.getByRole('button', { name: 'Show why this person gets it or not' }).click();
    await page.getByText('no message would reach the person now').waitFor();
    await expectSound(tab);
  });

  test('the preview for one person shows their own values, and is written down', async () => {
    const { db, secrets } = stack.store;
    const { id: attributeId } = world.attributes.plan!;
    const value = {
      attributeId,
      customerType: 'user_id',
      customerId: 'ada',
      valueType: 'String',
      value: 'gold',
    } as const;
    await write(db, (tx) =>
      mergeAttributeValues(
        tx,
        secrets,
        world.entity.id,
        world.sor.id,
        prepareChanges([{ kind: 'value', line: 1, ...value }]),
      ),
    );
    const id = await createCampaign({ start_date: Math.floor(Date.now() / 1_000) + 86_400 });
    const tab = await open();
    const { page } = tab;
    const { email } = await makePerson(stack.store, world);
    await logIn(tab, email, `/console/campaigns/${id}`);
    await page.getByLabel('Text', { exact: true }).fill('Your plan is ');
    await page.getByRole('button', { name: 'Insert a value: Text' }).click();
    await page.getByLabel('System of Records').selectOption(world.sor.identifier);
    await page.getByLabel('Attribute').selectOption('plan');
    await page.getByLabel('Text for people without it').fill('free');
    await page.getByRole('button', { name: 'Insert it' }).click();
    await page.getByRole('img', { name: 'Lock screen of iOS: Your plan is free' }).waitFor();
    await page.keyboard.type(', enjoy');
    await page.getByRole('img', { name: 'Lock screen of iOS: Your plan is free, enjoy' }).waitFor();
    await page.getByLabel('User id', { exact: true }).fill('ada');
    await page.getByRole('button', { name: 'Show their message' }).click();
    await page.getByText('Your plan is gold, enjoy', { exact: true }).waitFor();
    expect(await looks('preview')).toBe(1);
    await page.getByLabel('Title', { exact: true }).fill(`*@sor:${world.sor.identifier}.plam@*`);
    await page.getByText('names the attribute plam').first().waitFor();
    expect(await page.getByLabel('Title', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Title', { exact: true }).fill('');
    await page.getByText('nothing is sent until you launch').waitFor();
    await expectSound(tab);

    await call('PUT', `campaign/${id}/launch`, {});
    await page.getByLabel('Title', { exact: true }).fill('Late');
    await page.getByRole('button', { name: 'Save mine as a new draft' }).click();
    await page.waitForURL((url) => url.pathname.includes('/campaigns/cmp_') && !url.pathname.endsWith(id));
    expect(await page.getByLabel('Title', { exact: true }).inputValue()).toBe('Late');
    await page.getByLabel('Title', { exact: true }).fill('Later');
    await page.getByRole('link', { name: 'Campaigns', exact: true }).first().click();
    await page.getByRole('row', { name: /Plans .*scheduled .*from now/ }).waitFor();
    expect((await call('GET', 'campaigns')).result).toMatchObject([{ params: { push_title: 'Later' } }, {}, {}]);
  });

  test('a dynamic campaign says when it sends next, and what became of it while its page is open', async () => {
    const start = new Date(Date.now() + 2 * 86_400_000);
    const id = await createCampaign({
      name: 'Welcome',
      type: 'dynamic',
      end_date: Math.floor(Date.now() / 1_000) + 30 * 86_400,
      recurrence: { day_of_week: [start.getUTCDay()], start_time: { hour: 12, min: 0 }, timezone: 'UTC' },
      notif_limit: { maximum: 1 },
    });
    const tab = await open();
    const { page } = tab;
    const rights = RIGHTS.filter((right) => right !== 'dynamic_campaigns' && right !== 'ab_testing');
    const { email } = await makePerson(stack.store, world, { rights, admin: false });
    await logIn(tab, email, `/console/campaigns/${id}`);
    await page.getByText('To change it needs the right dynamic_campaigns.').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Review and launch' }).waitFor();
    await call('PUT', `campaign/${id}/launch`, {});
    await page.getByRole('link', { name: 'Campaigns', exact: true }).first().click();
    const noon = `${start.toISOString().slice(0, 10)}T12:00:00.000Z`;
    await page
      .getByRole('row', { name: /Welcome/ })
      .locator(`time[datetime="${noon}"]`)
      .waitFor();
    await page.getByRole('link', { name: 'Welcome' }).click();
    await page.getByText('next send:').locator(`time[datetime="${noon}"]`).waitFor();
    const become = (state: string) =>
      stack.store.db.query(`UPDATE campaigns SET ${state} WHERE entity_id = $1 AND identifier = $2`, [
        world.entity.id,
        id,
      ]);
    await become(`status = 'wait_sync'`);
    await page.getByText('It finds its audience before the first message leaves.').waitFor();
    await become(`status = 'failed', failure = 'its segment is gone'`);
    await page.getByText('It failed, and sends nothing more: its segment is gone.').waitFor();
    await page.getByText('its last messages are under way').waitFor();
    await become(`ended_at = now()`);
    await page.getByText('its last messages are under way').waitFor({ state: 'detached' });
    await expectSound(tab);
  });
});
