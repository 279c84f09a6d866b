/** The pages of campaigns: a draft is saved by itself, tested, launched with the number of its people, and counted. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
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
    await page.getByLabel('Name', { exact: true }).fill('Slots for tomorrow');
    await page.getByLabel('App', { exact: true }).selectOption({ label: app.app.name });
    await page.getByRole('button', { name: 'Review and launch' }).waitFor();

    await stack.store.db.query('UPDATE campaigns SET revision = revision + 1 WHERE entity_id = $1', [world.entity.id]);
    await page.getByLabel('Title', { exact: true }).fill('Tomorrow has free slots');
    await page.getByRole('alert').getByText('has been changed since').waitFor();
    await page.getByRole('button', { name: 'Replace it by mine' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByRole('img', { name: /^Lock screen of iOS: .*Tomorrow has free slots/ }).waitFor();
    await expectSound(tab);

    const launches: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/launch')) launches.push(request.method());
    });
    await page.getByText('nothing is sent until you launch').waitFor();
    await page.getByLabel('User ids, at most 20').fill('ada, bob');
    await page.getByRole('button', { name: 'Send a test now' }).click();
    await page.getByRole('list', { name: 'Results of the test' }).getByText('taken by the provider').waitFor();
    await page.getByRole('list', { name: 'Results of the test' }).getByText('unknown', { exact: true }).waitFor();
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
    const { body } = await served.call('POST', '/api/campaign', {
      token: world.token,
      body: {
        name: 'Plans',
        type: 'classic',
        source: 'API',
        app_id: app.app.identifier,
        includes_push: true,
        includes_inapp: false,
        start_date: 'now',
        params: { push_message: `Your plan is *@sor:${world.sor.identifier}.plan|free@*` },
      },
    });
    const tab = await open();
    const { page } = tab;
    const { email } = await makePerson(stack.store, world);
    await logIn(tab, email, `/console/campaigns/${(body.result as { campaign_id: string }).campaign_id}`);
    await page.getByRole('img', { name: 'Lock screen of iOS: Your plan is free' }).waitFor();
    await page.getByLabel('User id', { exact: true }).fill('ada');
    await page.getByRole('button', { name: 'Show their message' }).click();
    await page.getByText('Your plan is gold', { exact: true }).waitFor();
    await expectSound(tab);
    const { rowCount } = await db.query(
      `SELECT FROM audit_log WHERE entity_id = $1 AND details ->> 'what' = 'preview'`,
      [world.entity.id],
    );
    expect(rowCount).toBe(1);
  });
});
