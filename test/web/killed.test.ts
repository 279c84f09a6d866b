/** A person's walk from a connection to a run whose worker is killed in its midst: what the page counts meanwhile. */
import { beforeAll, describe, expect, test } from 'vitest';
import { flowsOver } from '../../temporal/flows.ts';
import { builtConsole, fillConnection, logIn, makePerson, useBrowser } from '../harness/console/console.ts';
import { useStack } from '../harness/core/stack.ts';
import { makeWorld, type World } from '../harness/core/world.ts';
import { UNDER_KILL } from '../harness/jobs/under-kill.ts';
import { openShop, type Shop } from '../harness/syncs/syncs.ts';
import { testServer } from '../server/http/test-server.ts';

const ROWS = 20_000;
const BAD = ROWS / 50;

const stack = useStack(UNDER_KILL);
const browser = useBrowser();
let world: World;
let shop: Shop;

beforeAll(async () => {
  if (browser.open === null) return;
  const flows = flowsOver({ db: stack.store.db, temporal: stack.temporal }, 60_000);
  const served = await testServer(stack.store, { ...flows, console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world, 'Warehouse');
  const table = shop.table('buyers');
  await shop.db.query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, points text);
    ALTER TABLE ${table} OWNER TO ${shop.role};
    INSERT INTO ${table} SELECT n, 'buyer-' || n || '@example.com', CASE WHEN n % 50 = 1 THEN 'many' ELSE n::text END
      FROM generate_series(1, ${ROWS}) n`);
});

describe.skipIf(browser.open === null)('a sync whose worker is killed', () => {
  const open = browser.open!;

  test('counts on in the page from where it was, and ends with each record once', async () => {
    const { email } = await makePerson(stack.store, world);
    const tab = await open();
    const { page } = tab;
    const first = stack.startWorker();

    await logIn(tab, email, '/console/connections/new?connector=postgres');
    await fillConnection(page, 'Shop', shop.settings);
    await page.getByLabel('password').fill(shop.settings.password);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor();

    await page.getByRole('link', { name: 'New sync from this connection' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Buyers');
    await page.getByRole('button', { name: 'Show its streams' }).click();
    await page.getByLabel('Stream').selectOption('buyers');
    await page.getByLabel('System of Records').selectOption(world.sor.identifier);
    await page.getByLabel('The field that names the person').selectOption('email');
    await page.getByRole('group', { name: 'Add a field' }).getByRole('button', { name: 'points' }).click();
    await page.getByLabel('To', { exact: true }).fill('score');
    await page.getByRole('button', { name: 'Create the sync' }).click();
    await page.getByRole('heading', { name: 'Buyers', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page
      .getByText(/^Dry run finished, .* failed$/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Run it now' }).waitFor();
    await first.stop();

    const second = stack.startWorker({ kill: { boundary: 'sync: after a batch committed', hit: 2 } });
    await page.getByRole('button', { name: 'Run it now' }).click();
    await page.getByRole('heading', { name: 'Run of Buyers' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.evaluate(RECORD_COUNTS);
    expect(await second.ended).toMatchObject({ signal: 'SIGKILL' });
    const shown = async () => Number((await totals(page)).at(-1));
    await expect.poll(shown, { timeout: 20_000 }).toBeGreaterThan(0);
    const before = await shown();
    expect(before).toBeLessThan(ROWS);
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(1);

    stack.startWorker();
    await page
      .getByText(/^Finished, .* failed$/)
      .first()
      .waitFor({ timeout: 60_000 });
    const counted = await totals(page);
    expect(counted).toEqual(counted.toSorted((a, b) => a - b));
    expect(counted).toContain(before);
    const balance = page.getByRole('region', { name: 'Balance' });
    const ended = (await balance.locator('.big').allTextContents()).map(toNumber);
    expect(ended).toEqual([ROWS, ROWS - BAD, 0, 0, BAD]);
    expect(tab.faults).toEqual([]);
  });
});

const toNumber = (text: string) => Number(text.replaceAll(/\D/g, ''));

/** Every total that the page shows from now on, also one that stands for a moment. */
const RECORD_COUNTS = `{
  const seen = (window.seenTotals = []);
  const look = () => {
    const text = document.querySelector('[aria-label="Balance"] .big')?.textContent;
    if (text !== undefined && text !== seen.at(-1)) seen.push(text);
  };
  look();
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}`;

async function totals(page: { evaluate<T>(script: string): Promise<T> }): Promise<number[]> {
  return (await page.evaluate<string[]>('window.seenTotals')).map(toNumber);
}
