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

async function keyLooks(): Promise<number> {
  const { rows } = await store.db.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM audit_log WHERE entity_id = $1 AND action = 'read' AND subject = $2`,
    [world.entity.id, world.sor.identifier],
  );
  return rows[0]!.count;
}

describe.skipIf(browser.open === null)('Systems of Records in a browser', () => {
  const open = browser.open!;

  test('show their attributes, and their keys on a press alone', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    const { page } = tab;
    const bodies: string[] = [];
    page.on(
      'response',
      (reply) =>
        void reply.text().then(
          (text) => bodies.push(text),
          () => {},
        ),
    );
    await logIn(tab, email, '/console/sors');
    await page.getByRole('link', { name: 'CRM' }).click();
    await page
      .getByText('retired', { exact: true })
      .or(page.getByText('plan', { exact: true }).first())
      .first()
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect([await keyLooks(), bodies.some((body) => body.includes(world.apiKey))]).toEqual([0, false]);
    await page.getByRole('button', { name: 'Show its keys' }).click();
    await page.getByText(world.apiKey, { exact: true }).waitFor();
    expect(await keyLooks()).toBe(1);
    expect(tab.faults).toEqual([]);
  });

  test('get an attribute, which is disabled once that is confirmed, and recipients of mails', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open({ width: 320, scheme: 'dark' });
    const { page } = tab;
    await logIn(tab, email, `/console/sors/${world.sor.identifier}`);
    await page.getByRole('button', { name: 'Define an attribute' }).click();
    await page.getByLabel('Key', { exact: true }).fill('shoe_size');
    await page.getByLabel('Type').selectOption('Number');
    await page.getByRole('button', { name: 'Define it' }).click();
    const row = page.locator('tr', { hasText: 'shoe_size' });
    await row.waitFor();
    expect([await isTooWide(page), await violationsOf(page)]).toEqual([false, []]);
    await row.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable it' }).click();
    await row.getByText('disabled', { exact: true }).waitFor();
    await page.getByLabel('To these addresses').fill('ada@example.com\nbob@example.com');
    await page.getByRole('button', { name: 'Save the addresses' }).click();
    await page.getByText('Saved.').waitFor();
    const { rows } = await store.db.query<{ value_type: string; disabled: boolean }>(
      `SELECT value_type, disabled FROM customer_attributes WHERE entity_id = $1 AND key = 'shoe_size'`,
      [world.entity.id],
    );
    expect(rows).toEqual([{ value_type: 'Number', disabled: true }]);
    expect(tab.faults).toEqual([]);
  });

  test('are deleted with their values once their name is typed', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    const { page } = tab;
    await logIn(tab, email, '/console/sors');
    await page.getByLabel('Name', { exact: true }).fill('Old shop');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Old shop' }).waitFor();
    await page.getByText('No attribute yet.').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const yes = page.getByRole('button', { name: 'Delete it with its values' });
    expect(await yes.isDisabled()).toBe(true);
    await page.getByLabel('Type Old shop to confirm').fill('Old shop');
    await yes.click();
    await page.getByRole('heading', { name: 'Systems of Records' }).waitFor();
    await page.getByRole('link', { name: 'CRM' }).waitFor();
    expect(await page.getByRole('link', { name: 'Old shop' }).count()).toBe(0);
    expect(tab.faults).toEqual([]);
  });
});
