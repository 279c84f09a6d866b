import { beforeAll, describe, expect, test } from 'vitest';
import { CALLED_OPERATIONS } from '../../api/core/called-operations.ts';
import { PAGES } from '../../web/pages/index.ts';
import {
  builtConsole,
  isTooWide,
  logIn,
  makePerson,
  type Tab,
  useBrowser,
  violationsOf,
} from '../harness/console/console.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();
/** Pages of one record need that record: the tests of their feature open them. */
const LISTS = PAGES.filter(({ path }) => !path.includes('$'));
const MENU = LISTS.filter(({ menu }) => menu !== undefined);
const AUDITED = new Set(CALLED_OPERATIONS.filter(({ isAudited }) => isAudited).map(({ id }) => id));
const READ_AT_ONCE = MENU.filter(({ needs }) => needs.length > 0 && !needs.some((name) => AUDITED.has(name)));

beforeAll(async () => {
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

/** Opens a page by its address, and waits until it has read what it shows. */
async function show({ page }: Tab, path: string): Promise<void> {
  await page.goto(`/console${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
}

describe.skipIf(browser.open === null)('each page', () => {
  const open = browser.open!;

  test('is right for everyone, light and dark, wide and narrow, while there is nothing yet', async () => {
    const { email, id } = await makePerson(store, world);
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [id]);
    const tab = await open();
    await logIn(tab, email);
    for (const { path, title } of LISTS) {
      await tab.page.setViewportSize({ width: 1280, height: 900 });
      await tab.page.emulateMedia({ colorScheme: 'light' });
      await show(tab, path);
      expect(await tab.page.title()).toBe(`${title} · Millrace`);
      expect({ path, found: await violationsOf(tab.page) }).toEqual({ path, found: [] });
      await tab.page.emulateMedia({ colorScheme: 'dark' });
      await tab.page.setViewportSize({ width: 320, height: 900 });
      expect({ path, isTooWide: await isTooWide(tab.page) }).toEqual({ path, isTooWide: false });
      expect({ path, found: await violationsOf(tab.page) }).toEqual({ path, found: [] });
      expect({ path, faults: tab.faults }).toEqual({ path, faults: [] });
    }
  });

  test('names the right that it needs, and asks for nothing that would be refused', async () => {
    const { email } = await makePerson(store, world, { rights: [], admin: false });
    const tab = await open();
    await logIn(tab, email);
    for (const { path, title, needs } of MENU) {
      const isOpen = needs.length === 0 || title === 'Tokens';
      const links = await tab.page.getByRole('link', { name: title, exact: true }).count();
      await show(tab, path);
      const refusals = await tab.page.getByText(/^Needs the (right|role) /).count();
      expect({ path, links, refusals }).toEqual({ path, links: isOpen ? 1 : 0, refusals: isOpen ? 0 : 1 });
    }
    expect(tab.faults).toEqual([]);
  });

  test('says what failed and offers to try again, while the server fails', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    await logIn(tab, email);
    const failing = '**/api/**';
    for (const { path } of READ_AT_ONCE.slice(0, 3)) {
      await tab.page.route(failing, (route) =>
        route.request().url().endsWith('/api/session')
          ? route.continue()
          : route.fulfill({ status: 500, json: { success: false, status: 500, error_message: 'Out of order' } }),
      );
      await show(tab, path);
      await tab.page.getByText('Out of order').first().waitFor();
      expect({ path, found: await violationsOf(tab.page) }).toEqual({ path, found: [] });
      await tab.page.unroute(failing);
      const again = tab.page.getByRole('button', { name: 'Try again' });
      for (let left = await again.count(); left > 0; left -= 1) {
        await again.first().click();
        await expect.poll(() => again.count()).toBe(left - 1);
      }
    }
    expect(tab.faults).toEqual([]);
  });
});
