/** Lists of imports, without a worker: an import that waits stays as it is. */
import { beforeAll, describe, expect, test } from 'vitest';
import { builtConsole, logIn, makePerson, useBrowser, violationsOf } from '../harness/console/console.ts';
import { insertUpload } from '../harness/imports/imports.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();

beforeAll(async () => {
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

describe.skipIf(browser.open === null)('imports in lists', () => {
  test('an import under way is canceled after a question, and lists show what came in', async () => {
    const { identifier } = await insertUpload(store.db, store, world);
    const { email } = await makePerson(store, world);
    const tab = await browser.open!();
    await logIn(tab, email, '/console/imports');
    const { page } = tab;
    await page.getByRole('link', { name: identifier }).click();
    await page.getByRole('button', { name: 'Cancel the import' }).click();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the import' }).click();
    await page.getByText('Canceled', { exact: true }).first().waitFor();
    await page.getByRole('link', { name: 'Imports' }).last().click();
    await page.getByRole('button', { name: 'With open rows' }).click();
    await page.getByRole('link', { name: identifier }).waitFor({ state: 'detached' });
    expect(await violationsOf(page)).toEqual([]);
    expect(tab.faults).toEqual([]);
  });
});
