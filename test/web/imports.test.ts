/** The pages of imports and feeds, over a real worker: what came in, corrections in the page, a dry run first. */
import { beforeAll, describe, expect, test } from 'vitest';
import { flowsOver } from '../../temporal/flows.ts';
import {
  builtConsole,
  isTooWide,
  logIn,
  makePerson,
  type Tab,
  useBrowser,
  violationsOf,
} from '../harness/console/console.ts';
import { personId } from '../harness/core/people.ts';
import { useStack } from '../harness/core/stack.ts';
import { makeWorld, type World } from '../harness/core/world.ts';
import { feedDone, postFeed } from '../harness/feed/feeds.ts';
import { importEnded, postImport } from '../harness/imports/imports.ts';
import { testServer } from '../server/http/test-server.ts';

const stack = useStack();
const browser = useBrowser();
const START_WITHIN_MS = 60_000;
let world: World;

const HEADER = 'user_id,attribute_key,value,action_type\n';

/** Rows of every kind of error that a person can correct; 007 and the space at the end have to stay. */
const FILE = Buffer.concat([
  Buffer.from(
    `${HEADER}${personId(0)},plan,007,\n${personId(1)},score,"41,90",\n${personId(2)},score,"7,00",\n` +
      `${personId(3)},born,24.11.2026,UPSERT\n${personId(4)},vip,perhaps,\n,plan,gold ,\n` +
      `${personId(5)},heard,1,\n${personId(6)},plan,gold,REPLACE\n${personId(7)},plan,gold\n`,
  ),
  Buffer.from(`${personId(8)},plan,g\u{fc}ltig,\n`, 'latin1'),
]);

beforeAll(async () => {
  if (browser.open === null) return;
  stack.startWorker();
  world = await makeWorld(stack.store);
  const served = await testServer(stack.store, {
    console: await builtConsole(),
    ...flowsOver({ db: stack.store.db, temporal: stack.temporal }, START_WITHIN_MS),
  });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

async function expectSound({ page, faults }: Tab): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
}

async function openAt(path: string, options: Parameters<NonNullable<typeof browser.open>>[0] = {}): Promise<Tab> {
  const { email } = await makePerson(stack.store, world);
  const tab = await browser.open!(options);
  await logIn(tab, email, `/console${path}`);
  return tab;
}

describe.skipIf(browser.open === null)('imports in the console', () => {
  test('a file with every error is tried out, imported, corrected in the page, and re-driven', async () => {
    const tab = await openAt('/imports/new');
    const { page } = tab;
    await page.getByLabel('Drop a file here').setInputFiles({ name: 'values.csv', mimeType: 'text/csv', buffer: FILE });
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('would come in').waitFor();
    await page.getByText('Finished', { exact: true }).waitFor();
    await expectSound(tab);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('Finished, 9 rows open').waitFor();
    expect(await page.getByRole('region', { name: 'Balance' }).innerText()).toMatch(/^10\s/);
    await page.getByRole('button', { name: 'Show these rows' }).click();

    await page.getByRole('button', { name: 'Turn the commas into points' }).click();
    await page.getByLabel('user_id, line 7').fill(personId(9));
    expect(await page.getByLabel('value, line 7').inputValue()).toBe('gold ');
    await page.getByText('3 of 9 rows changed').waitFor();
    await expectSound(tab);
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('Dry run, nothing was changed: 3 rows would come in').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Re-drive 3 rows' }).click();
    await page.getByText('Re-driven: 3 rows came in').waitFor();
    await page.getByText('Finished, 6 rows open').waitFor();
    await expectSound(tab);
    const { rows } = await stack.store.db.query(
      `SELECT coalesce(string_value, number_value::text) AS value FROM attribute_values
       WHERE entity_id = $1 AND customer_id = ANY ($2) ORDER BY 1`,
      [world.entity.id, [0, 1, 2, 9].map(personId)],
    );
    expect(rows.map(({ value }) => value)).toEqual(['007', '41.90', '7.00', 'gold ']);

    await page.goto('/console/imports');
    const panel = page.getByRole('region', { name: 'Rows a day, UTC' });
    await panel.getByText('rows in all').waitFor();
    await panel.getByText('Errors by type').click();
    const types = panel.getByRole('region', { name: 'Errors by type and day' });
    expect(await types.getByRole('row', { name: /^INVALID_VALUE/ }).count()).toBe(1);
    await expectSound(tab);
  });

  test('a file that cannot be fetched brought no row, and the page says so', async () => {
    const tab = await openAt('/imports/new');
    const { page } = tab;
    await page.getByRole('button', { name: 'A file at an address' }).click();
    await page.getByLabel('Address').fill('http://10.0.0.1/values.csv');
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('No row was read: nothing came in.').waitFor();
    expect(await page.getByText(/No row is open|Every row/).count()).toBe(0);
    await page.getByRole('link', { name: 'Import again' }).waitFor();
    await expectSound(tab);
    await page.getByRole('link', { name: 'Imports', exact: true }).first().click();
    await page.getByRole('button', { name: 'Feed requests' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?list=feeds');
    await page.getByRole('button', { name: 'Imports', exact: true }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });

  test('a row that fails again stays open, with what was typed', async () => {
    const id = await postImport(stack.app, world, `${HEADER}${personId(1)},score,many,\n`);
    await importEnded(stack.store, world, id);
    const tab = await openAt(`/imports/${id}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Show these rows' }).click();
    const cell = page.getByLabel('value, line 2');
    await cell.fill('more');
    await cell.press('Escape');
    await page.getByRole('button', { name: 'Re-drive 1 row' }).click();
    await page.getByText('1 row refused again').waitFor();
    await page.getByRole('button', { name: 'Read the open rows again' }).click();
    await page.getByText('1 of 1 row changed').waitFor();
    expect(await cell.inputValue()).toBe('more');
    await page.getByRole('button', { name: 'Undo' }).click();
    expect(await cell.inputValue()).toBe('many');
    expect(tab.faults).toEqual([]);
  });

  test('a feed request shows its balance and its refused values', async () => {
    const request = await postFeed(stack.app, world, [
      { customer_id: personId(1), attribute_key: 'plan', attribute_value: 'gold' },
      { customer_id: personId(2), attribute_key: 'score', attribute_value: 'many' },
    ]);
    await feedDone(stack.store, world, request);
    const tab = await openAt('/imports?list=feeds', { width: 320, scheme: 'dark' });
    const { page } = tab;
    await page.getByRole('link', { name: request }).click();
    await page.getByRole('button', { name: 'Show these values' }).click();
    await page.getByText('INVALID_VALUE').waitFor();
    expect(await isTooWide(page)).toBe(false);
    await expectSound(tab);
  });

  test('fits 320 pixels in the dark, also with rows that are corrected', async () => {
    const id = await postImport(stack.app, world, FILE);
    await importEnded(stack.store, world, id);
    const tab = await openAt(`/imports/${id}`, { width: 320, scheme: 'dark' });
    await tab.page.getByRole('button', { name: 'Show these rows' }).click();
    await tab.page.getByLabel('value, line 3').fill('41.90');
    expect(await isTooWide(tab.page)).toBe(false);
    await expectSound(tab);
    for (const path of ['/imports', '/imports/new']) {
      await tab.page.goto(`/console${path}`);
      await tab.page.getByRole('heading', { level: 1 }).waitFor();
      expect(await isTooWide(tab.page)).toBe(false);
      await expectSound(tab);
    }
  });

  test('a person without the right has no menu entry, and reads what is missing', async () => {
    const { email } = await makePerson(stack.store, world, { rights: [], admin: false });
    const tab = await browser.open!();
    await logIn(tab, email, '/console/imports');
    await tab.page.getByText('Needs the right sor_manage').waitFor();
    expect(await tab.page.getByRole('link', { name: 'Imports' }).count()).toBe(0);
    expect(tab.faults).toEqual([]);
  });
});
