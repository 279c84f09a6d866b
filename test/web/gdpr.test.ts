/** The pages of privacy: a deletion from its approval to a verified receipt, holds, receipts of a person, the map. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { write } from '../../store/core/database.ts';
import { personalData } from '../../store/gdpr/personal-data-registry.ts';
import { flowsOver } from '../../temporal/flows.ts';
import {
  builtConsole,
  cutTables,
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
import { insertPeople, leftOf, requestTreated } from '../harness/gdpr/gdpr.ts';
import { deletionByDevice } from '../harness/gdpr/gdpr-requests.ts';
import { ensureSampleMonths, sampleApp } from '../harness/tracking/sdk-samples.ts';
import { testServer } from '../server/http/test-server.ts';

const stack = useStack();
const browser = useBrowser();
let world: World;
const [ADA, BEN, CAROL, DAN] = [1, 2, 3, 4].map((number) => personId(970_000 + number)) as [
  string,
  string,
  string,
  string,
];

beforeAll(async () => {
  const { store, temporal } = stack;
  world = await makeWorld(store);
  await ensureSampleMonths(store.db);
  const id = await write(store.db, (tx) => sampleApp(tx, world.entity.id));
  await insertPeople(store, { ...world, app: { id } }, [ADA, BEN, CAROL, DAN]);
  const served = await testServer(store, {
    console: await builtConsole(),
    ...flowsOver({ db: store.db, temporal }, 60_000),
  });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
  stack.startWorker();
});

/** Entries of looks in the audit log, by their subject and what was looked at. */
async function looks(): Promise<Record<string, number>> {
  const { rows } = await stack.store.db.query<{ what: string; entries: number }>(
    `SELECT concat_ws(' ', subject_kind, details ->> 'what') AS what, count(*) AS entries
     FROM audit_log WHERE entity_id = $1 AND action = 'read' GROUP BY 1`,
    [world.entity.id],
  );
  return Object.fromEntries(rows.map(({ what, entries }) => [what, entries]));
}

async function opened(path: string): Promise<Tab> {
  const { email } = await makePerson(stack.store, world);
  const tab = await browser.open!();
  await logIn(tab, email, `/console${path}`);
  return tab;
}

/** Expects what each state of each page must be: right for everyone, wide and narrow, without a fault. */
async function expectSound({ page, faults }: Tab): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 900 });
  expect(await isTooWide(page)).toBe(false);
  await page.setViewportSize({ width: 1280, height: 900 });
  expect(await cutTables(page)).toEqual([]);
  expect(faults).toEqual([]);
}

describe.skipIf(browser.open === null)('the pages of privacy', () => {
  test('a deletion is approved by its number of people, erased, and proven by a receipt that the browser verifies', async () => {
    const request = await deletionByDevice(stack.store.db, world.entity.id, { userId: ADA, deviceId: null });
    const { identifier } = request;
    const tab = await opened('/privacy');
    const { page } = tab;
    const before = await looks();
    await page.getByRole('link', { name: identifier }).first().click();
    await page.getByRole('heading', { name: 'Deletion of 1 person' }).waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    const approve = page.getByRole('button', { name: 'Approve the deletion' });
    expect(await approve.isDisabled()).toBe(true);
    await page.getByLabel('Type 1 to confirm').fill('1');
    await approve.click();
    await requestTreated(stack.store, request);
    await page.getByText('0 survivors in the last scan').waitFor();
    await page.locator('.chip', { hasText: 'treated' }).waitFor();
    expect(await leftOf(stack.store, world.entity.id, [ADA])).toEqual({});
    // The page has followed the request, and looked at no person.
    expect(await looks()).toEqual(before);
    await page.getByRole('button', { name: 'Show the receipts' }).click();
    await page.getByText('verified', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show the people of this request' }).click();
    await page.getByRole('cell', { name: 'treated', exact: true }).waitFor();
    expect(await looks()).toEqual({ ...before, gdpr_receipt: 1, gdpr_request: 1 });
    await expectSound(tab);

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ]);
    const text = await readFile(await download.path(), 'utf8');
    const [sound, changed] = ['sound', 'changed'].map((name) =>
      join(inject('runFolder'), `${identifier}-${name}.json`),
    );
    await writeFile(sound!, text);
    await writeFile(changed!, text.replace('"survivors": 0', '"survivors": 1'));
    await page.getByRole('link', { name: 'Receipts', exact: true }).click();
    const file = page.getByLabel('Receipt, deletion list or manifest (JSON)');
    await file.setInputFiles(changed!);
    await page.getByText('Do not rely on it').waitFor();
    await file.setInputFiles(sound!);
    await page.getByText('verified', { exact: true }).waitFor();
    expect(await page.getByText('Do not rely on it').count()).toBe(0);

    await page.getByLabel('Id of the person').fill(ADA);
    await page.getByRole('button', { name: 'Show the receipts' }).click();
    await expect.poll(() => page.getByText('verified', { exact: true }).count()).toBe(2);
    expect(page.url()).not.toContain('zqperson');
    expect(await looks()).toEqual({ ...before, gdpr_receipt: 2, gdpr_request: 1 });
    await expectSound(tab);
  });

  test('a deletion is requested for pasted ids, and leaves out who is on hold until the release', async () => {
    const tab = await opened('/privacy/holds');
    const { page } = tab;
    const before = await looks();
    await page.getByRole('button', { name: 'Put on hold' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Id', { exact: true }).fill(CAROL);
    await form.getByLabel('Reason').fill('A claim of 2026');
    await form.getByRole('button', { name: 'Put on hold' }).click();
    await page.getByText('Placed as').waitFor();

    await page.getByRole('link', { name: 'Requests', exact: true }).click();
    await page.getByRole('button', { name: 'Request deletion' }).click();
    await page.getByLabel('User ids, one a line').fill(`${BEN}\n\n${CAROL}\n${BEN}\n`);
    await page.getByText('2 people.').waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByLabel('Type 2 to confirm').fill('2');
    await page.getByRole('button', { name: 'Delete their data' }).click();
    await page.getByRole('heading', { name: 'Deletion of 2 people' }).waitFor();
    const balance = page.getByRole('region', { name: 'Balance' });
    await balance.getByRole('img', { name: 'treated 50.00 percent, on hold 50.00 percent' }).waitFor();
    expect(await leftOf(stack.store, world.entity.id, [BEN])).toEqual({});
    expect(await leftOf(stack.store, world.entity.id, [CAROL])).not.toEqual({});
    expect(await looks()).toEqual(before);

    await page.getByRole('link', { name: 'Holds', exact: true }).click();
    await page.getByRole('button', { name: 'Show who is held' }).click();
    await page.getByText('A claim of 2026').waitFor();
    await expectSound(tab);
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('button', { name: 'Release it' }).click();
    await page.getByText('No person is on hold').waitFor();
    // The list was read once: the release changed what is shown.
    expect(await looks()).toEqual({ ...before, 'customer holds': 1 });
    await page.getByRole('link', { name: 'Requests', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'treated' }).first().waitFor();
    await expect.poll(() => leftOf(stack.store, world.entity.id, [CAROL])).toEqual({});
    await expectSound(tab);
  });

  test('a request is declined, and an alias that only an SDK knows is decided on before', async () => {
    await stack.store.db.query(
      `INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, device_id)
       SELECT $1, id, $2, $3, 'a device' FROM apps WHERE entity_id = $1 LIMIT 1`,
      [world.entity.id, `old ${DAN}`, DAN],
    );
    // An SDK can name a person as it likes.
    const people = [DAN, 'constructor', '__proto__'].map((userId) => ({ userId, deviceId: null }));
    const { identifier } = await deletionByDevice(stack.store.db, world.entity.id, people[0]!, { people });
    const tab = await opened(`/privacy/${identifier}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Show the people of this request' }).click();
    const named = page.getByRole('table', { name: 'People of the request' }).getByRole('row');
    await expect.poll(() => named.filter({ hasText: 'pending' }).count()).toBe(people.length);
    await page.getByRole('button', { name: 'Show their identifiers' }).click();
    await page.getByText('One alias waits for a decision').waitFor();
    await expectSound(tab);
    await page.getByRole('button', { name: 'Same person' }).click();
    await page.getByText('confirmed', { exact: true }).waitFor();
    const { rows } = await stack.store.db.query(
      'SELECT decision FROM user_aliases WHERE entity_id = $1 AND user_id = $2',
      [world.entity.id, DAN],
    );
    expect(rows).toEqual([{ decision: 'confirmed' }]);
    await page.getByRole('button', { name: 'Decline', exact: true }).click();
    await page.getByLabel('Reason').selectOption('not_identified');
    await page.getByRole('button', { name: 'Decline it' }).click();
    await page.locator('.chip', { hasText: 'declined' }).waitFor();
    expect(await leftOf(stack.store, world.entity.id, [DAN])).not.toEqual({});
    const { rows: entries } = await stack.store.db.query(
      `SELECT details FROM audit_log WHERE entity_id = $1 AND action = 'decline'`,
      [world.entity.id],
    );
    expect(entries).toEqual([{ details: { reason: 'not_identified' } }]);
    expect(tab.faults).toEqual([]);
  });

  test('the audit log finds the looks at one person, whose id stays out of the address', async () => {
    const tab = await opened('/privacy/receipts');
    const { page } = tab;
    await page.getByLabel('Id of the person').fill(DAN);
    await page.getByRole('button', { name: 'Show the receipts' }).click();
    await page.getByText('No receipt names this person').waitFor();
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByLabel('About the user id').fill(`nobody ${DAN}`);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show the entries' }).click();
    await page.getByText('No entry matches these filters').waitFor();
    await page.getByLabel('About the user id').fill(DAN);
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'read gdpr receipt' }).waitFor();
    await page.getByLabel('From').fill('2020-01-01');
    await page.getByLabel('Until').fill('2020-01-31');
    await page.getByText('No entry matches these filters').waitFor();
    expect(new URL(page.url()).search).toBe('?from=2020-01-01&until=2020-01-31');
    await page.getByLabel('Until').fill('');
    await page.getByRole('cell', { name: 'read gdpr receipt' }).waitFor();
    await expectSound(tab);
  });

  test('the map has every location of the registry, and finds one by a word', async () => {
    const tab = await opened('/privacy/map');
    const { page } = tab;
    await page.getByText(`${personalData.length} locations`).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(personalData.length);
    await expectSound(tab);
    await page.getByLabel('Filter').fill('push token');
    await page.getByRole('heading', { name: 'What apps and devices send' }).waitFor();
    await expect.poll(() => page.getByRole('heading', { name: 'Imports' }).count()).toBe(0);
    expect(page.url()).toContain('q=push');
    expect(tab.faults).toEqual([]);
  });
});
