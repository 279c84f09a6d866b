import { beforeAll, describe, expect, test } from 'vitest';
import { flowsOver } from '../../temporal/flows.ts';
import {
  builtConsole,
  fillConnection,
  isTooWide,
  logIn,
  makePerson,
  type Tab,
  useBrowser,
  violationsOf,
} from '../harness/console/console.ts';
import { useStack } from '../harness/core/stack.ts';
import { makeWorld, type World } from '../harness/core/world.ts';
import { ask, makeSync, openShop, type Shop } from '../harness/syncs/syncs.ts';
import { testServer } from '../server/http/test-server.ts';

const stack = useStack();
const browser = useBrowser();
let world: World;
let shop: Shop;

beforeAll(async () => {
  if (browser.open === null) return;
  const { db } = stack.store;
  const flows = flowsOver({ db, temporal: stack.temporal }, 60_000);
  const served = await testServer(stack.store, { ...flows, console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
  stack.startWorker();
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world, 'Warehouse');
  const table = shop.table('people');
  await shop.db.query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, tariff text, since text);
    ALTER TABLE ${table} OWNER TO ${shop.role};
    INSERT INTO ${table} SELECT n, 'person-' || n || '@example.com', 'free', CASE WHEN n % 4 = 0 THEN 'soon' ELSE '2026-01-01' END
      FROM generate_series(1, 40) n`);
});

const chip = ({ page }: Tab, text: string) => page.getByText(text, { exact: true }).first();

describe.skipIf(browser.open === null)('syncs and connections in a browser', () => {
  const open = browser.open!;

  test('are not shown to a person without the right, who reads what they need', async () => {
    const { email } = await makePerson(stack.store, world, { rights: ['usage_analytics_view'], admin: false });
    const tab = await open();
    await logIn(tab, email, '/console/syncs');
    await tab.page.getByText('Needs the right sor_manage').waitFor();
    for (const name of ['Syncs', 'Connections', 'Systems of Records'])
      expect(await tab.page.getByRole('link', { name }).count()).toBe(0);
    for (const path of ['syncs/new', 'connections', 'connections/new', 'sors']) {
      await tab.page.goto(`/console/${path}`);
      await tab.page.getByText('Needs the right sor_manage').waitFor();
    }
    expect(tab.faults).toEqual([]);
  });

  test('begin with a connection: made by the form of its connector, checked, and its streams listed', async () => {
    const { email } = await makePerson(stack.store, world);
    const tab = await open();
    const { page } = tab;
    await logIn(tab, email, '/console/connections');
    await page.getByRole('link', { name: 'New connection' }).click();
    await page.getByRole('link', { name: /PostgreSQL/ }).click();
    expect(await violationsOf(page)).toEqual([]);
    await fillConnection(page, 'Shop', shop.settings);
    await page.getByLabel('password').fill('no password of it');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('source_refused').waitFor();
    await page.getByText('The fault is outside of Millrace').waitFor();
    await page.getByLabel('password').fill(shop.settings.password);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('It works.').waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('It works.').waitFor();
    await page.getByRole('button', { name: 'Show its streams' }).click();
    await page.getByText('people', { exact: true }).waitFor();
    expect(await page.content()).not.toContain(shop.settings.password);
    expect(await violationsOf(page)).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test('show the balance of a run, the records that failed, and what a dry run would change', async () => {
    const { email } = await makePerson(stack.store, world);
    const sync = await makeSync(stack, world, {
      name: 'People of the shop',
      source: { connection: shop.connection, stream: 'people' },
      destination: { sor: world.sor.identifier },
      mapping: {
        customer: { field: 'email' },
        fields: [
          { from: 'tariff', to: 'plan' },
          { from: 'since', to: 'born', as: 'date' },
        ],
      },
    });
    const tab = await open();
    const { page } = tab;
    await logIn(tab, email, '/console/syncs');
    await page.getByRole('link', { name: 'People of the shop' }).click();
    await page.getByText('never ran').first().waitFor();
    await page.getByRole('button', { name: 'Dry run' }).click();
    await chip(tab, 'Dry run finished, 10 failed').waitFor();
    await page.getByRole('button', { name: 'Show these changes' }).click();
    await page.getByText('2026-01-01').first().waitFor();
    await page.goto(`/console/syncs/${sync}`);
    await page.getByRole('button', { name: 'Run now' }).click();
    await chip(tab, 'Finished, 10 failed').waitFor();
    const balance = page.getByRole('region', { name: 'Balance' });
    expect((await balance.locator('.big').allTextContents()).map(Number)).toEqual([40, 30, 0, 0, 10]);
    await page.getByRole('button', { name: 'Show these records' }).click();
    await page.getByText('person-8@example.com', { exact: true }).first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.goto(`/console/syncs/${sync}`);
    await balance.getByText('records read by the last run').waitFor();
    expect((await balance.locator('.big').allTextContents()).map(Number)).toEqual([40, 30, 0, 0, 10]);
    await balance.getByRole('link', { name: '10', exact: true }).click();
    await expect.poll(() => page.url()).toMatch(/\/runs\/run_[^/]+#errors$/);
    await page.goBack();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect(tab.faults).toEqual([]);
    const looks = await ask<{ entries: { details: object }[] }>(
      stack.app,
      world,
      'GET',
      '/api/audit_log?action=read&subject_kind=sync_run',
    );
    expect(looks.entries.map(({ details }) => details)).toEqual([{ what: 'errors' }, { what: 'sample' }]);
  });

  test('are made and edited by a form, which keeps what was typed when someone else saved first', async () => {
    const { email } = await makePerson(stack.store, world);
    const tab = await open();
    const { page } = tab;
    await logIn(tab, email, `/console/connections/${shop.connection}`);
    await page.getByRole('link', { name: 'New sync from this connection' }).click();
    await page.getByRole('button', { name: 'Create the sync' }).click();
    const sor = page.getByLabel('System of Records');
    await expect.poll(() => sor.getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Name', { exact: true }).fill('Tariffs');
    // A corrected field is no longer marked; the others are.
    expect(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid')).toBe('false');
    expect(await sor.getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Show its streams' }).click();
    await page.getByLabel('Stream').selectOption('people');
    await page.getByLabel('System of Records').selectOption(world.sor.identifier);
    await page.getByLabel('The field that names the person').selectOption('email');
    const add = page.getByRole('group', { name: 'Add a field' });
    for (const field of ['tariff', 'since']) await add.getByRole('button', { name: field }).click();
    await page.getByLabel('To', { exact: true }).first().fill('plan');
    await page.getByLabel('To', { exact: true }).last().fill('plan');
    await page.getByRole('button', { name: 'At set times' }).click();
    await page.getByLabel('Cron').fill('sometimes');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await expect.poll(() => page.getByLabel('Cron').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('To', { exact: true }).last().getAttribute('aria-invalid')).toBe('true');
    expect(await violationsOf(page)).toEqual([]);
    const refused = page.getByRole('alert');
    await refused.getByText('Entry 2, To is "plan", as that of entry 1 is').waitFor();
    expect(await refused.innerText()).not.toContain('mapping.');
    await page.getByRole('button', { name: 'Add an entry' }).click();
    const third = page.getByRole('group', { name: '3. new entry' });
    await third.getByLabel('Take').selectOption('constant');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await third.getByText('name where the value goes').waitFor();
    expect(await third.getByLabel('To', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Remove entry 3' }).click();
    await page.getByLabel('Cron').fill('0 6 * * 1-5');
    await page.getByLabel('To', { exact: true }).last().fill('born');
    await page.getByLabel('As', { exact: true }).last().selectOption('date');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('The definition is right.').waitFor();
    await page.getByRole('button', { name: 'Create the sync' }).click();
    await page.getByRole('heading', { name: 'Tariffs', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Dry run' }).click();
    await chip(tab, 'Dry run finished, 10 failed').waitFor();
    await page.getByRole('link', { name: 'Edit the sync' }).click();
    const second = await open({ context: tab.context });
    await second.page.goto(page.url());
    await second.page.getByLabel('Name', { exact: true }).fill('Tariffs of the shop');
    await page.getByLabel('Cron').fill('30 7 * * *');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Tariffs', exact: true }).waitFor();
    await second.page.getByRole('button', { name: 'Save', exact: true }).click();
    await second.page.getByText('You changed this sync elsewhere').waitFor();
    await second.page.getByText('They changed: cron.').waitFor();
    expect(await second.page.getByLabel('Name', { exact: true }).inputValue()).toBe('Tariffs of the shop');
    expect(await violationsOf(second.page)).toEqual([]);
    await second.page.setViewportSize({ width: 320, height: 900 });
    expect(await isTooWide(second.page)).toBe(false);
    await second.page.getByRole('button', { name: 'Reload, and keep my changes' }).click();
    await second.page.getByRole('button', { name: 'Save', exact: true }).click();
    await second.page.getByRole('heading', { name: 'Tariffs of the shop', exact: true }).waitFor();
    const { items } = await ask<{ items: { name: string; schedule: { cron: string } }[] }>(
      stack.app,
      world,
      'GET',
      '/api/syncs',
    );
    const saved = items.find(({ name }) => name === 'Tariffs of the shop');
    expect(saved?.schedule.cron).toBe('30 7 * * *');
    expect([tab.faults, second.faults]).toEqual([[], []]);
  });

  test('are shown at 320 pixels, in the dark', async () => {
    const { email } = await makePerson(stack.store, world);
    const tab = await open({ width: 320, scheme: 'dark' });
    await logIn(tab, email, '/console/syncs');
    await tab.page.getByRole('link', { name: 'People of the shop' }).click();
    await tab.page.getByText('records read by the last run').waitFor();
    expect([await isTooWide(tab.page), await violationsOf(tab.page)]).toEqual([false, []]);
    await tab.page.getByRole('link', { name: 'Finished, 10 failed', exact: true }).click();
    await tab.page.getByText('records read', { exact: true }).waitFor();
    expect([await isTooWide(tab.page), await violationsOf(tab.page)]).toEqual([false, []]);
    for (const path of [
      'syncs/new',
      'connections',
      'connections/new?connector=postgres',
      `connections/${shop.connection}`,
    ]) {
      await tab.page.goto(`/console/${path}`);
      await tab.page.getByRole('heading', { level: 2 }).first().waitFor();
      expect([path, await isTooWide(tab.page), await violationsOf(tab.page)]).toEqual([path, false, []]);
    }
    expect(tab.faults).toEqual([]);
  });
});
