import { beforeAll, describe, expect, test } from 'vitest';
import { flowsOver } from '../../temporal/flows.ts';
import { builtConsole, isTooWide, logIn, makePerson, useBrowser, violationsOf } from '../harness/console/console.ts';
import { testS3, type TestS3 } from '../harness/core/s3.ts';
import { useStack } from '../harness/core/stack.ts';
import { type ExportWorld, insertEvents, makeExportWorld, runExport } from '../harness/exports/exports.ts';
import { testServer } from '../server/http/test-server.ts';

const stack = useStack();
const browser = useBrowser();
const ROWS = 2_400;
let s3: TestS3;
let world: ExportWorld;
let email: string;
let path: string;

beforeAll(async () => {
  if (browser.open === null) return;
  s3 = await testS3();
  const { store, temporal } = stack;
  const flows = flowsOver({ db: store.db, temporal }, 60_000);
  const served = await testServer(store, { console: await builtConsole(), ...flows });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
  stack.startWorker();
  world = await makeExportWorld(stack, s3, { exportedData: ['logs', 'details'] });
  await insertEvents(stack, world, ROWS);
  await runExport(stack, world);
  ({ email } = await makePerson(store, world));
  path = `/console/exports/${world.exporter.identifier}?until=2026-11-22`;
});

describe.skipIf(browser.open === null)('exports in a browser', () => {
  const open = browser.open!;

  test('a day whose object is deleted turns red when verified, and a rerun makes it whole again', async () => {
    const tab = await open();
    await logIn(tab, email, path);
    const { page } = tab;
    const day = (says: RegExp) => page.getByRole('button', { name: says });
    await day(/^20 Nov: exported; not compared/).waitFor();
    await page.getByRole('button', { name: 'Verify in the bucket' }).click();
    await day(/^20 Nov: each file and the manifest/).waitFor();
    const [key] = (await s3.keys()).filter((each) => each.endsWith('.gz'));
    await s3.delete(key!);
    await page.getByRole('button', { name: 'Verify in the bucket' }).click();
    await day(/^20 Nov: a file or the manifest is gone/).click();
    const detail = page.getByRole('region', { name: '20 Nov' });
    await detail.getByText('gone', { exact: true }).waitFor();
    // Each event has two details.
    await detail
      .getByText((3 * ROWS).toLocaleString('en'))
      .first()
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await detail.getByRole('button', { name: 'Export again' }).click();
    await day(/^20 Nov: each file and the manifest/).waitFor({ timeout: 60_000 });
    await detail.getByText('gone', { exact: true }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('day')).toBe('2026-11-20');
    expect(tab.faults).toEqual([]);
  });

  test('an exporter made in the form is activated, run, and deleted, and its secrets are never shown', async () => {
    const tab = await open();
    await logIn(tab, email, '/console/exports');
    const { page } = tab;
    const { endpoint, region, bucket, access_key_id, secret_access_key } = s3.settings;
    await page.getByRole('button', { name: 'New exporter' }).click();
    await page.getByLabel('Name', { exact: true }).fill('To the warehouse');
    await page.getByLabel('logs').check();
    await page.getByLabel(world.app.name).check();
    await page.getByLabel('Bucket', { exact: true }).fill(bucket);
    await page.getByLabel('Region').fill(region);
    await page.getByLabel('Endpoint').fill(endpoint);
    await page.getByLabel('Access key id').fill(access_key_id);
    await page.getByLabel('Secret access key').fill('not the secret');
    await page.getByRole('button', { name: 'Create it' }).click();
    await page.getByRole('alert').getByText('SignatureDoesNotMatch').waitFor();
    await page.getByLabel('Secret access key').fill(secret_access_key);
    await page.getByRole('button', { name: 'Create it' }).click();
    await page.getByRole('heading', { level: 1, name: 'To the warehouse' }).waitFor();
    await page.getByRole('button', { name: 'Activate', exact: true }).click();
    await page.getByText('active', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show the policy' }).click();
    await page.getByText('s3:PutObject').waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await page.getByText('canceled', { exact: true }).waitFor();
    expect(await page.content()).not.toContain(secret_access_key);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByLabel('to confirm').fill('To the warehouse');
    await page.getByRole('button', { name: 'Delete the exporter' }).click();
    await page.getByRole('heading', { level: 1, name: 'Exports' }).waitFor();
    await page.getByRole('link', { name: 'To the warehouse' }).waitFor({ state: 'detached' });
    const { rows } = await stack.store.db.query(
      `SELECT 1 FROM audit_log WHERE entity_id = $1 AND action = 'read' AND subject_kind = 'data_exporter'`,
      [world.entity.id],
    );
    expect(rows).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test('is shown at 320 pixels in the dark, and names the right that it needs', async () => {
    const tab = await open({ width: 320, scheme: 'dark' });
    await logIn(tab, email, `${path}&day=2026-11-20`);
    await tab.page.getByRole('region', { name: '20 Nov' }).waitFor();
    expect(await isTooWide(tab.page)).toBe(false);
    expect(await violationsOf(tab.page)).toEqual([]);
    await tab.page.goto(`${path}&day=tomorrow`);
    await tab.page.getByRole('region', { name: 'Days', exact: true }).waitFor();
    const without = await makePerson(stack.store, world, { rights: ['sor_manage'], admin: false });
    const other = await open();
    await logIn(other, without.email, path);
    await other.page.getByText('Needs the right usage_analytics_view').waitFor();
    expect([...tab.faults, ...other.faults]).toEqual([]);
  });
});
