import { beforeAll, describe, expect, test } from 'vitest';
import { builtConsole, isTooWide, logIn, makePerson, useBrowser, violationsOf } from '../harness/console/console.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();

beforeAll(async () => {
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

describe.skipIf(browser.open === null)('a session in a browser', () => {
  const open = browser.open!;

  test('begins at the page that was asked for, keeps to the policy, and ends in all tabs', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    await tab.page.goto('/console/me');
    expect(await violationsOf(tab.page)).toEqual([]);
    await logIn(tab, email, '/console/me');
    await tab.page.getByRole('heading', { name: 'You', exact: true }).waitFor();
    const other = await open({ context: tab.context });
    await other.page.goto('/console/');
    await other.page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(await other.page.evaluate<number[]>('[localStorage.length, sessionStorage.length]')).toEqual([0, 0]);
    expect(await violationsOf(other.page)).toEqual([]);
    await other.page.getByRole('button', { name: email }).click();
    await other.page.getByRole('button', { name: 'Log out' }).click();
    await other.page.getByLabel('E-mail').waitFor();
    await tab.page.getByText('The session has ended').waitFor();
    expect([...tab.faults, ...other.faults]).toEqual([]);
  });

  test('stays open if its end is refused, and says which request, and when to try again', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    await tab.page.clock.install();
    await logIn(tab, email);
    await tab.page.route('**/api/session', (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({
            status: 429,
            headers: { 'retry-after': '90', 'x-request-id': 'req-held' },
            json: { success: false, status: 'too_many_requests', error_message: 'Too many calls' },
          })
        : route.continue(),
    );
    await tab.page.getByRole('button', { name: email }).click();
    await tab.page.getByRole('button', { name: 'Log out' }).click();
    const alert = tab.page.getByRole('alert').filter({ hasText: 'Too many calls' });
    await alert.getByText('Again in 90 s').waitFor();
    await alert.getByRole('button', { name: 'Copy req-held' }).waitFor();
    expect(await violationsOf(tab.page)).toEqual([]);
    await tab.page.clock.fastForward(90_000);
    await alert.getByText('You can try again now').waitFor();
    await tab.page.unroute('**/api/session');
    await tab.page.getByRole('button', { name: 'Log out' }).click();
    await tab.page.getByLabel('E-mail').waitFor();
    expect(tab.faults).toEqual([]);
  });

  test('is shown at 320 pixels, in the dark, and by keys alone', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open({ width: 320, scheme: 'dark' });
    await logIn(tab, email);
    expect(await isTooWide(tab.page)).toBe(false);
    expect(await violationsOf(tab.page)).toEqual([]);
    await tab.page.keyboard.press('Control+k');
    await tab.page.keyboard.type('home');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Home' }).waitFor();
    await tab.page.keyboard.press('?');
    await tab.page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(tab.faults).toEqual([]);
  });
});
