/** The pages of segments: one is built, counted and saved, changed by two at once; who joined, who left, and why. */
import type { Route } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { insertEventDefinitions } from '../../store/tracking/event-definitions.ts';
import { ensurePartitions } from '../../store/tracking/event-partitions.ts';
import { insertSampleApp } from '../harness/apps/apps.ts';
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
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, server, world } = useServer();
const browser = useBrowser();
const PEOPLE = 12_000;
let app: { id: number; identifier: string };

beforeAll(async () => {
  const { id: entityId } = world.entity;
  app = await insertSampleApp(store.db, entityId, 'com.example.built');
  await ensurePartitions(store.db, [new Date()]);
  await insertEventDefinitions(store.db, entityId, app.id, [{ logType: 2, name: 'Ordered' }]);
  const each = `FROM generate_series(1, ${PEOPLE}) n`;
  for (const statement of [
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) SELECT $1, $2, 'd' || n, 'c-' || n, now() ${each}`,
    `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, country, opt_in, push_token, first_seen_at, last_seen_at)
     SELECT $1, $2, 'd' || n, 'c-' || n, CASE n % 3 WHEN 0 THEN 'FR' ELSE 'DE' END, n % 2 = 0, 'token', now(), now() ${each}`,
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, device_id, user_id, name)
     SELECT $1, $2, now() - interval '1 minute', 2, 'd' || n, 'c-' || n, 'Ordered' ${each} WHERE n % 4 > 0`,
  ])
    await store.db.query(statement, [entityId, app.id]);
  await store.db.query('ANALYZE device_users, devices, events');
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

async function opened(path: string): Promise<Tab> {
  const { email } = await makePerson(store, world);
  const tab = await browser.open!();
  await logIn(tab, email, `/console${path}`);
  return tab;
}

async function expectSound({ page, faults }: Tab): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 900 });
  expect(await isTooWide(page)).toBe(false);
  await page.setViewportSize({ width: 1280, height: 900 });
  expect(faults).toEqual([]);
}

const call = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) =>
  (await server.call(method, `/api/${path}`, { token: world.token, body })).body.result;

const ORDERED = { filter_on: 'events', log_name: 'Ordered', period: { last_days: 30 } };
const GERMAN = { filter_on: 'devices', field: 'country_code', operator: 'is', values: ['DE'] };

describe.skipIf(browser.open === null)('the pages of segments', () => {
  test('a segment by the builder equals the same by JSON; its fast count holds the exact one', async () => {
    const tab = await opened('/segments/new');
    const { page } = tab;
    await page.getByLabel('Name', { exact: true }).fill('German buyers');
    await page.getByLabel('App', { exact: true }).selectOption(app.identifier);
    await page.getByLabel('Event', { exact: true }).fill('Ordered');
    await page.getByRole('button', { name: 'Add a filter' }).click();
    const second = page.locator('[data-path="blocks.0.filters.1"]');
    await second.getByLabel('Filter on').selectOption('Device');
    await second.getByLabel('Values').fill('DE');
    const exact = await call('POST', 'segments/preview', {
      app: app.identifier,
      filters: { blocks: [{ filters: [ORDERED, GERMAN] }] },
    });
    const people = exact.preview.people_number as number;
    const fast = page.getByText(/^Fast: /);
    await fast.waitFor();
    const [estimate, margin] = (await fast.textContent())!
      .match(/[\d,]+/g)!
      .map((text) => Number(text.replaceAll(',', '')));
    expect(Math.abs(estimate! - people)).toBeLessThanOrEqual(margin!);
    await second.getByText(/ left$/).waitFor();
    const exactly = page.getByRole('button', { name: 'Count exactly' });
    const counted = page.getByText(`Exact: ${people.toLocaleString('en')} people`);
    await exactly.or(counted).waitFor();
    if (await exactly.isVisible()) await exactly.click();
    await counted.waitFor();
    expect(await fast.count()).toBe(1);
    await expectSound(tab);

    await page.getByRole('button', { name: 'As JSON' }).click();
    const json = page.getByLabel('Filters as JSON');
    const typed = JSON.parse(await json.inputValue()) as { blocks: { filters: { values: string[] }[] }[] };
    typed.blocks[0]!.filters[1]!.values = ['DE', 'AT'];
    await json.fill(JSON.stringify(typed));
    await expect.poll(() => second.getByLabel('Values').inputValue()).toBe('DE\nAT');
    await second.getByLabel('Values').fill('DE');
    await expect.poll(() => json.inputValue()).not.toContain('AT');
    await page.getByRole('button', { name: 'Create the segment' }).click();
    await page.getByRole('heading', { level: 1, name: 'German buyers' }).waitFor();
    await page
      .getByText('event Ordered at least 1 time, in the last 30 days; and a device whose country code is DE')
      .waitFor();
    const [built] = await call('GET', `segments?app=${app.identifier}`);
    const byJson = await call('POST', 'segments', {
      app: app.identifier,
      name: 'By JSON',
      filters: { blocks: [{ filters: [ORDERED, GERMAN] }] },
    });
    expect(built.filters).toEqual(byJson.filters);
    await expectSound(tab);
  });

  test('an older answer that comes last is dropped, and a wrong filter is marked in its line', async () => {
    const tab = await opened('/segments/new');
    const { page } = tab;
    const held: Route[] = [];
    let isHolding = true;
    await page.route('**/api/segments/preview', (route) => {
      if (!isHolding) return route.continue();
      held.push(route);
      return undefined;
    });
    const line = page.locator('[data-path="blocks.0.filters.0"]');
    await page.getByLabel('App', { exact: true }).selectOption(app.identifier);
    await line.getByLabel('Filter on').selectOption('Device');
    await line.getByLabel('Values').fill('FR');
    await expect.poll(() => held.length).toBe(1);
    isHolding = false;
    await line.getByLabel('Values').fill('DE');
    const german = await call('POST', 'segments/preview', {
      app: app.identifier,
      filters: { blocks: [{ filters: [GERMAN] }] },
      fast: true,
    });
    const shown = page.getByText(`Fast: ${Number(german.preview.people_number).toLocaleString('en')}`);
    await shown.waitFor();
    const late = { ...german, preview: { people_number: 1, people_percent: 1, push_percent: 1 }, took_ms: 1_000 };
    // A browser whose call was stopped takes no answer; one that came takes it, and must not show it.
    await held[0]!.fulfill({ json: { success: true, result: late } }).catch(() => {});
    await page
      .getByText(/Exact: /)
      .or(page.getByRole('button', { name: 'Count exactly' }))
      .waitFor();
    expect(await shown.count()).toBe(1);

    await line.getByLabel('Comparison').selectOption('is set');
    await line.getByLabel('Filter on').selectOption('Event');
    await line.getByLabel('Event', { exact: true }).fill('Orderd');
    await line.getByText(/did you mean Ordered\?/).waitFor();
    await expectSound(tab);
  });

  test('a list takes a pasted column, shows what it refused, who joined, and why one is in it', async () => {
    const { identifier } = await call('POST', 'segments', { app: app.identifier, name: 'Guests', static: true });
    await store.db.query('UPDATE segments SET snapshot_at = now() WHERE identifier = $1', [identifier]);
    const tab = await opened(`/segments/${identifier}`);
    const { page } = tab;
    const ids = [personId(1), personId(2), `\u0007${personId(3)}`];
    await page.getByLabel('Ids, one a line').fill(`${ids.join('\n')}\n`);
    await page.getByRole('button', { name: 'Add them' }).click();
    await page.getByText('2 added, 0 were there already, 1 refused.').waitFor();
    await page.getByRole('table', { name: 'Refused ids' }).getByRole('cell', { name: '3', exact: true }).waitFor();
    await page.getByText('2 joined, 0 left in all').waitFor();
    await page.getByRole('button', { name: 'Show who joined and who left' }).click();
    await page.getByRole('table', { name: 'Who joined and who left' }).getByRole('row').nth(2).waitFor();
    await page.getByRole('button', { name: 'Show its people' }).click();
    await page.getByRole('table', { name: 'People of the segment' }).getByText(personId(2)).first().waitFor();
    await page.getByLabel('Id', { exact: true }).fill(personId(1));
    await page.getByRole('button', { name: 'Show why' }).click();
    await page.getByText('in the segment', { exact: true }).waitFor();
    await expectSound(tab);
  });

  test('two people who change a segment at once lose nothing', async () => {
    const filters = { blocks: [{ filters: [GERMAN] }] };
    const { identifier } = await call('POST', 'segments', { app: app.identifier, name: 'Shared', filters });
    const tab = await opened(`/segments/${identifier}/edit`);
    const { page } = tab;
    await page.getByLabel('Description').fill('Mine');
    await call('PUT', `segments/${identifier}`, { name: 'Theirs' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`${world.user.email} changed this segment`).waitFor();
    await page.getByRole('button', { name: 'Keep my changes' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Shared' }).waitFor();
    expect(await call('GET', `segments/${identifier}`)).toMatchObject({ description: 'Mine', revision: 3 });
    await page.goto('/console/segments');
    await page
      .getByRole('cell', { name: /a device whose country code is DE/ })
      .first()
      .waitFor();
    await expectSound(tab);
  });
});
