import { beforeAll, describe, expect, test } from 'vitest';
import { builtConsole, isTooWide, logIn, makePerson, useBrowser, violationsOf } from '../harness/console/console.ts';
import { personId } from '../harness/core/people.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';
import { basic, insertKeyedApp } from '../server/tracking/sample-tracking.ts';

const { store, world } = useServer();
const browser = useBrowser();
let base = '';

beforeAll(async () => {
  const served = await testServer(store, { console: await builtConsole() });
  base = await served.app.listen({ port: 0, host: '127.0.0.1' });
  browser.at(base);
});

/** Sends a call as an SDK does, and returns the status of the answer. */
async function send(apiKey: string, call: object, path = 'track'): Promise<number> {
  const { status } = await fetch(`${base}/v1/${path}`, {
    method: 'POST',
    headers: { ...basic(apiKey), 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  return status;
}

async function countEntries(subject: string, what: string): Promise<number> {
  const { rowCount } = await store.db.query(
    `SELECT FROM audit_log WHERE entity_id = $1 AND subject = $2 AND details ->> 'what' = $3`,
    [world.entity.id, subject, what],
  );
  return rowCount!;
}

describe.skipIf(browser.open === null)('apps in a browser', () => {
  const open = browser.open!;

  test('are made with a first key; a refused call shows its reason and its line, and is accepted once mended', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    const { page } = tab;
    await logIn(tab, email, '/console/apps');
    await page.getByRole('link', { name: 'New app' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await page.getByLabel('Package name').fill('com.example.journey');
    await page.getByLabel('Platform').selectOption('Web App');
    await page.getByRole('button', { name: 'Make it, with its first key' }).click();
    const lines = page.getByRole('group', { name: 'Lines for Browser' });
    const apiKey = /writeKey: '(\w+)'/.exec(await lines.innerText())![1]!;
    await page.getByRole('link', { name: 'Watch its calls come in' }).click();
    await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor();
    await page.getByText('Waits for its first call').waitFor();
    const id = page.url().split('/').at(-1)!;
    await page.getByRole('button', { name: 'Show the live calls' }).click();
    await page.getByText('No call yet, and none in the last 31 days.').waitFor();
    const call = { userId: personId(8_101), messageId: 'journey-1', properties: { plan: 'gold' } };
    expect(await send(apiKey, call)).toBe(400);
    const refused = page.locator('.calls > li', { hasText: 'event: must stand in a track call' });
    await refused.waitFor();
    await refused.locator('summary').click();
    const line = refused.getByRole('group', { name: 'The line to change' });
    expect(await line.locator('ins').innerText()).toContain("event: '<name of the event>'");
    expect(await refused.getByLabel('As the server read it').innerText()).toContain(personId(8_101));
    expect(await violationsOf(page)).toEqual([]);
    expect(await send(apiKey, { ...call, messageId: 'journey-2', event: 'Signed Up' })).toBe(200);
    await page.locator('.calls > li', { hasText: 'accepted' }).filter({ hasText: 'Signed Up' }).waitFor();
    await page.getByRole('button', { name: 'Stop the list' }).click();
    await page.getByText('Stopped: calls that come now').waitFor();
    expect(await countEntries(id, 'live_calls')).toBe(1);
    await page.reload();
    const balance = page.getByRole('region', { name: 'Balance' });
    await balance.getByRole('link', { name: '1' }).click();
    await page.getByRole('button', { name: 'Show the refused calls' }).click();
    const kept = page.locator('.calls > li', { hasText: 'journey-1' });
    await kept.locator('summary').click();
    await kept.getByText('Give the event a name.').waitFor();
    expect(await countEntries(id, 'refused_calls')).toBe(1);
    expect([await violationsOf(page), tab.faults]).toEqual([[], []]);
  });

  test('show their keys on a press alone, refuse a revoked one, and say that a shared one leaves calls of no app', async () => {
    const app = await insertKeyedApp(store, world);
    await insertKeyedApp(store, world, { apiKey: app.apiKey });
    await send(app.apiKey, { event: 'Of no app', userId: personId(8_102) });
    const { email } = await makePerson(store, world);
    const tab = await open({ width: 320, scheme: 'dark' });
    const { page } = tab;
    await logIn(tab, email, `/console/apps/${app.app.identifier}`);
    await page.getByText('Several apps share a key of this one').waitFor();
    expect(await page.getByText(app.apiKey).count()).toBe(0);
    await page.getByRole('button', { name: 'Show the keys' }).click();
    await page.getByText(app.apiKey, { exact: true }).waitFor();
    expect([await isTooWide(page), await violationsOf(page)]).toEqual([false, []]);
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByRole('button', { name: 'Accept it again' }).waitFor();
    await page.getByText('No key: the server refuses all its calls.').waitFor();
    await page.getByRole('tab', { name: 'Push' }).click();
    await page.getByText('No certificate yet').waitFor();
    await page.getByText(`millrace push outcomes ${app.app.identifier}`).waitFor();
    await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
    // The bar at the top stays, and covers what is scrolled below it.
    await page.evaluate('scrollTo(0, 0)');
    expect([await isTooWide(page), await violationsOf(page)]).toEqual([false, []]);
    await page.getByRole('tab', { name: 'User tokens' }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByText('The page forgets them when you leave').waitFor();
    await page.evaluate('scrollTo(0, 0)');
    expect([await isTooWide(page), await violationsOf(page)]).toEqual([false, []]);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByText('is deleted.').waitFor();
    await page.getByRole('button', { name: 'Show the keys' }).click();
    await page.getByText('No other key.').waitFor();
    const { rows } = await store.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE entity_id = $1
         AND (subject_kind = 'user_token_key' OR subject = $2 AND details ->> 'user_token_keys' IS NOT NULL) ORDER BY id`,
      [world.entity.id, app.app.identifier],
    );
    expect(rows.map(({ action }) => action)).toEqual(['create', 'delete', 'read']);
    expect(tab.faults).toEqual([]);
  });

  test('have settings that a change of somebody else is not lost from, and names for their events', async () => {
    const app = await insertKeyedApp(store, world);
    await send(app.apiKey, { event: 'order_completed', userId: personId(8_103) });
    const { email } = await makePerson(store, world);
    const tab = await open();
    const { page } = tab;
    await logIn(tab, email, `/console/apps/${app.app.identifier}/edit`);
    await page.getByLabel('Seconds without an event').fill('300');
    await store.db.query('UPDATE apps SET revision = revision + 1, send_rate = 7 WHERE id = $1', [app.app.id]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Show the newer settings' }).click();
    await expect.poll(() => page.getByLabel('Messages per second').inputValue()).toBe('7');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('Seconds without an event').fill('300');
    await page.getByRole('button', { name: 'New group' }).click();
    await page.getByLabel('Name of the group').fill('Shops');
    await page.getByRole('button', { name: 'Make the group' }).click();
    await page.getByRole('checkbox', { name: /^Shops/, checked: true }).waitFor();
    await page.getByLabel('Icon, thumb', { exact: true }).fill('https://example.com/icon.png');
    await page.getByRole('button', { name: 'Another version' }).click();
    await page.getByLabel('Version 1').fill('2.1.0');
    await page.getByLabel('State 1').fill('live');
    await page.getByLabel('Since 1 (UTC)').fill('2026-11-05T10:00:00');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('tab', { name: 'Names of events' }).click();
    await page.getByRole('button', { name: 'Name it' }).click();
    await page.getByLabel('Name for people').fill('Order completed');
    await page.getByLabel('Labels').fill('shop, money');
    await page.getByLabel('A key event').check();
    await page.getByRole('button', { name: 'Save' }).click();
    const row = page.locator('tr', { hasText: 'Order completed' });
    await row.getByText('key event').waitFor();
    expect(await row.innerText()).toContain('money');
    const { rows } = await store.db.query(
      `SELECT session_timeout, send_rate, icon ->> 'thumb' AS thumb, statuses, localizations,
         (SELECT count(*)::integer FROM app_group_members m WHERE m.entity_id = apps.entity_id AND m.app_id = apps.id) AS groups
       FROM apps WHERE id = $1`,
      [app.app.id],
    );
    const saved = {
      session_timeout: 300,
      send_rate: 7,
      thumb: 'https://example.com/icon.png',
      statuses: [{ cdate: Date.parse('2026-11-05T10:00Z') / 1_000, state: 'live', version_number: '2.1.0' }],
      localizations: [],
      groups: 1,
    };
    expect([rows, await violationsOf(page), tab.faults]).toEqual([[saved], [], []]);
  });

  test('tell their users about their data: texts by language, elements, and what is not translated', async () => {
    const app = await insertKeyedApp(store, world);
    const { email } = await makePerson(store, world);
    const tab = await open();
    const { page } = tab;
    await logIn(tab, email, `/console/apps/${app.app.identifier}/wallet`);
    await page.getByRole('button', { name: /languages/ }).click();
    await page.getByLabel('Codes of ISO 639-1').fill('en, fr');
    await page.getByRole('button', { name: 'Save' }).click();
    const make = async (kind: string, name: string) => {
      await page.getByRole('button', { name: `New ${kind}` }).click();
      await page.getByLabel('Technical name').fill(name);
      if (kind === 'recipient') await page.getByLabel('Name', { exact: true }).fill('Our CRM');
      await page.getByRole('button', { name: 'Make it' }).click();
      await page.getByText(name, { exact: true }).first().waitFor();
    };
    await make('legal text', 'privacy_notice');
    await make('purpose', 'newsletter');
    await make('recipient', 'crm');
    await page.getByRole('button', { name: 'Translate privacy_notice, fr' }).click();
    await page.getByLabel('Title').fill('Vos données');
    await page.getByRole('textbox', { name: 'Text' }).fill('Le moins possible.');
    await page.getByRole('button', { name: 'Save' }).click();
    const legal = page.locator('tr', { hasText: 'privacy_notice' });
    await legal.getByText('Vos données').waitFor();
    expect(await legal.getByText('not translated').count()).toBe(1);
    await page.locator('tr', { hasText: 'crm' }).getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Technical name 1').fill('orders');
    await page.getByLabel('Category 1').selectOption('user_profile');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('tr', { hasText: 'crm' }).getByText('1 element').waitFor();
    await page.locator('tr', { hasText: 'newsletter' }).getByRole('button', { name: 'Change' }).click();
    await page.getByRole('checkbox', { name: 'orders' }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('orders (User profile), Our CRM').waitFor();
    await page.getByRole('button', { name: 'French', exact: true }).click();
    await page.getByText('Le moins possible.').last().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 900 });
    expect([await isTooWide(page), await violationsOf(page)]).toEqual([false, []]);
    await legal.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByText('No legal text yet').waitFor();
    expect(tab.faults).toEqual([]);
  });
});
