import { beforeAll, describe, expect, test } from 'vitest';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { insertMembership } from '../../store/accounts/users.ts';
import { httpSource } from '../harness/core/http-source.ts';
import { waitFor } from '../harness/core/wait.ts';
import { makeWorld } from '../harness/core/world.ts';
import {
  builtConsole,
  isTooWide,
  logIn,
  logInByForm,
  makePerson,
  useBrowser,
  violationsOf,
} from '../harness/console/console.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();

beforeAll(async () => {
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

async function sorsNamed(name: string): Promise<number> {
  const { rowCount } = await store.db.query('SELECT FROM systems_of_records WHERE name = $1', [name]);
  return rowCount!;
}

describe.skipIf(browser.open === null)('a session in a browser', () => {
  const open = browser.open!;

  test('begins at the page that was asked for, keeps to the policy, and ends in all tabs', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    await tab.page.goto('/console/me');
    expect(await violationsOf(tab.page)).toEqual([]);
    await logInByForm(tab, email, '/console/me');
    await tab.page.getByRole('heading', { name: 'You', exact: true }).waitFor();
    const other = await open({ context: tab.context });
    await other.page.goto('/console/');
    await other.page.getByRole('heading', { name: 'Home' }).waitFor();
    const kept = '[localStorage.length, sessionStorage.length, (await indexedDB.databases()).length]';
    expect(await other.page.evaluate<number[]>(`(async () => ${kept})()`)).toEqual([0, 0, 0]);
    expect(await violationsOf(other.page)).toEqual([]);
    await other.page.getByRole('button', { name: email }).click();
    await other.page.getByRole('button', { name: 'Log out' }).click();
    await other.page.getByLabel('E-mail').waitFor();
    await tab.page.getByText('The session has ended').waitFor();
    expect([...tab.faults, ...other.faults]).toEqual([]);
  });

  test('stays open if its end is refused, and says which request, and when to try again', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open({ clock: true });
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

  test('says for how long a call waits, second by second, and whose fault it is if it fails', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open({ clock: true });
    await logIn(tab, email);
    const answers: [number, string, string, string?][] = [
      [429, 'too_many_requests', 'Too many calls', '20'],
      [503, 'source_unavailable', 'shop.example.com answered 500'],
    ];
    await tab.page.route('**/api/system_of_records*', (route) => {
      const [status, code, message, after] = answers.shift() ?? [500, 'internal_error', 'Out of order'];
      return route.fulfill({
        status,
        headers: after === undefined ? {} : { 'retry-after': after },
        json: { success: false, status: code, error_message: message },
      });
    });
    await tab.page.getByRole('link', { name: 'Systems of Records' }).click();
    const wait = tab.page.getByRole('timer').filter({ hasText: 'Millrace is busy' });
    await wait.waitFor();
    const said = async () => Number(/(\d+) s$/.exec(await wait.innerText())![1]);
    const before = await said();
    await tab.page.clock.runFor(3_000);
    await expect.poll(said).toBeLessThanOrEqual(before - 3);
    await tab.page.clock.fastForward(20_000);
    const alert = tab.page.getByRole('alert');
    await alert.getByText('The fault is outside of Millrace').waitFor();
    await alert.getByText('shop.example.com answered 500').waitFor();
    await alert.getByText('ask the people who run that system').waitFor();
    expect(await alert.getByText('on the side of Millrace').count()).toBe(0);
    expect(await violationsOf(tab.page)).toEqual([]);
    await alert.getByRole('button', { name: 'Try again' }).click();
    await alert.getByText('on the side of Millrace').waitFor();
    expect(tab.faults).toEqual([]);
  });

  test('warns two minutes before it ends for want of use, is extended by one key, and ends in all tabs', async () => {
    const { email, id } = await makePerson(store, world);
    const tab = await open({ clock: true });
    await logIn(tab, email);
    const other = await open({ context: tab.context });
    await other.page.goto('/console/imports');
    await other.page.getByRole('heading', { name: 'Imports', exact: true }).waitFor();
    /** Sets when the session ends, as if it had not been used. */
    const endIn = (time: string) =>
      store.db.query(
        `UPDATE tokens SET used_at = now() - interval '29 minutes', expires_at = now() + $2::interval WHERE user_id = $1`,
        [id, time],
      );
    const usedFor = async () => {
      const { rows } = await store.db.query<{ minutes: number }>(
        'SELECT round(extract(epoch FROM expires_at - now()) / 60)::integer AS minutes FROM tokens WHERE user_id = $1',
        [id],
      );
      return rows[0]!.minutes;
    };
    const warning = tab.page.getByRole('dialog', { name: 'Are you still here?' });
    // A first call of the pages that is still on its way counts as use, too.
    await waitFor('the warning', async () => {
      await endIn('100 seconds');
      const answered = tab.page.waitForResponse('**/api/session');
      await tab.page.clock.fastForward(30_000);
      await answered;
      // The page asked when it ends, and that was no use.
      return (await warning.isVisible()) && (await usedFor()) < 3;
    });
    // A network that breaks off ends nothing.
    await tab.page.route('**/api/session', (route) => route.abort());
    await tab.page.keyboard.press('Enter');
    await warning.getByText('Millrace was not reached').waitFor();
    await tab.page.unroute('**/api/session');
    expect(await violationsOf(tab.page)).toEqual([]);
    expect(await other.page.getByRole('heading', { name: 'Imports', exact: true }).isVisible()).toBe(true);
    await warning.getByRole('button', { name: 'Stay logged in' }).press('Enter');
    await tab.page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await usedFor()).toBe(30);
    await endIn('-1 second');
    await tab.page.clock.fastForward(30_000);
    for (const { page } of [tab, other]) {
      await page.getByText('The session has ended').waitFor();
      expect(await page.getByRole('navigation', { name: 'Menu' }).count()).toBe(0);
    }
    expect([...tab.faults, ...other.faults]).toEqual([]);
  });

  test('outlives a wrong password and a wrong clock', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open({ clock: true });
    await tab.page.clock.install({ time: Date.now() + 3_600_000 });
    await logIn(tab, email, '/console/me');
    expect(await tab.page.getByRole('dialog').count()).toBe(0);
    await tab.page.getByLabel('Current password').fill('not this one');
    await tab.page.getByLabel('New password').fill('correct horse battery staple 2');
    await tab.page.getByRole('button', { name: 'Change the password' }).click();
    await tab.page.getByText('password: is not the one in force').waitFor();
    expect(await tab.page.getByLabel('New password').inputValue()).toBe('correct horse battery staple 2');
    expect(tab.faults).toEqual([]);
  });

  test('shows nothing of a session that was over when another person logs in elsewhere', async () => {
    const [one, two] = [await makePerson(store, world), await makePerson(store, world)];
    const tab = await open();
    await logIn(tab, one.email, '/console/sors');
    await tab.page.getByLabel('Name', { exact: true }).fill('Of the first person');
    await store.db.query('DELETE FROM tokens WHERE user_id = $1', [one.id]);
    const other = await open({ context: tab.context });
    await logInByForm(other, two.email, '/console/me');
    await tab.page.getByRole('button', { name: two.email }).waitFor();
    expect(await tab.page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
  });

  test('acts in one entity: a tab of another says so, and sends nothing', async () => {
    const { email, id } = await makePerson(store, world);
    const second = await makeWorld(store);
    await insertMembership(store.db, { userId: id, entityId: second.entity.id, rights: [...RIGHTS], admin: true });
    const tab = await open();
    await logIn(tab, email, '/console/sors');
    const other = await open({ context: tab.context });
    await other.page.goto('/console/');
    await other.page.getByLabel('Entity').selectOption({ label: second.entity.name });
    await other.page.getByRole('main').getByText(second.entity.name).waitFor();
    const heading = tab.page.getByRole('heading', { name: 'Another tab has switched the entity' });
    await heading.waitFor();
    await tab.page.getByRole('button', { name: 'Show the entity of the session' }).click();
    await tab.page.goto('/console/sors');
    await tab.page.getByLabel('Name', { exact: true }).fill('Of the first entity');
    // A switch that the tab has not heard of.
    await other.page.evaluate(
      `fetch('/api/session', { method: 'PUT', headers: { 'content-type': 'application/json', 'x-millrace-console': '1' },
         body: JSON.stringify({ entity: ${JSON.stringify(world.entity.identifier)} }) })`,
    );
    await tab.page.getByRole('button', { name: 'Create' }).click();
    await heading.waitFor();
    expect(await sorsNamed('Of the first entity')).toBe(0);
    expect(await violationsOf(tab.page)).toEqual([]);
    expect([...tab.faults, ...other.faults]).toEqual([]);
  });

  test('counts for nothing that another origin sends, by form or by script', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    await logIn(tab, email);
    const target = new URL('/api/system_of_records', tab.page.url()).href;
    const evil = await httpSource();
    const page = evil.serve('/evil', (_, response) => {
      response.setHeader('content-type', 'text/html').end(`<!doctype html><title>Evil</title>
        <form method="post" action="${target}" enctype="text/plain"><input name='{"name":"Foreign","x":"' value='"}'></form>`);
    });
    await tab.page.goto(page);
    // Its answer is kept from the other origin, whatever it is.
    await tab.page.evaluate(
      `fetch(${JSON.stringify(target)}, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"name":"Foreign"}' }).catch(() => {})`,
    );
    const answered = tab.page.waitForResponse(target);
    await tab.page.evaluate('document.forms[0].submit()');
    expect((await answered).status()).toBe(401);
    expect(await sorsNamed('Foreign')).toBe(0);
  });

  test('goes on in an open tab after a new build by one reload, and by no second one', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open({ clock: true });
    await logIn(tab, email);
    let loads = 0;
    tab.page.on('framenavigated', (frame) => {
      if (frame === tab.page.mainFrame() && frame.url().includes('/admin/tokens')) loads += 1;
    });
    await tab.page.route('**/assets/tokens-*.js', (route) => route.fulfill({ status: 404, body: '' }));
    await tab.page.clock.fastForward(60_000);
    await tab.page.getByRole('link', { name: 'Tokens' }).click();
    await tab.page.waitForEvent('load');
    await tab.page.getByRole('heading', { name: 'The page cannot be shown' }).waitFor();
    await tab.page.unroute('**/assets/tokens-*.js');
    await tab.page.getByRole('button', { name: 'Load it again' }).click();
    await tab.page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor();
    // The click, the reload by itself, and that by the button.
    expect(loads).toBe(3);
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
