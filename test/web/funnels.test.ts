/** The pages of funnels: made of rows, counted fast, then exactly, their people, and a segment of who stopped. */
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { beforeAll, describe, expect, test } from 'vitest';
import { refreshSegmentsSteps } from '../../activities/analytics/refresh-segments.ts';
import type { Dependencies } from '../../activities/dependencies.ts';
import { semaphore } from '../../domain/core/semaphore.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { insertEventDefinitions } from '../../store/tracking/event-definitions.ts';
import { ensurePartitions } from '../../store/tracking/event-partitions.ts';
import { insertDeviceUsers, insertSampleEvents } from '../harness/analytics/sample-events.ts';
import { insertSampleApp } from '../harness/apps/apps.ts';
import { builtConsole, isTooWide, logIn, makePerson, useBrowser, violationsOf } from '../harness/console/console.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();
const SHOPPERS = 160;
let app: { id: number; identifier: string };

/** Yesterday all view something, every second of them adds it, every fourth orders: a fifth of these an hour later. */
beforeAll(async () => {
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.shop');
  const day = Date.now() - DAY_MS;
  await ensurePartitions(store.db, [day]);
  const shoppers = Array.from({ length: SHOPPERS }, (_, nth) => nth);
  await insertSampleEvents(
    store.db,
    world.entity.id,
    shoppers.flatMap((nth) => {
      const event = (name: string, minute: number) => ({
        appId: app.id,
        user: `shopper-${nth}`,
        device: `phone-${nth}`,
        at: new Date(day + minute * 60_000),
        name,
      });
      return [
        event('Viewed', 0),
        ...(nth % 2 === 0 ? [event('Added', 1)] : []),
        ...(nth % 4 === 0 ? [event('Ordered', nth % 20 === 0 ? 66 : 2)] : []),
      ];
    }),
  );
  for (const nth of shoppers)
    await insertDeviceUsers(store.db, world.entity.id, app.id, `phone-${nth}`, [`shopper-${nth}`]);
  await insertEventDefinitions(
    store.db,
    world.entity.id,
    app.id,
    ['Viewed', 'Added', 'Ordered'].map((name) => ({ logType: 2, name })),
  );
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

/** Counts the people of the entity's newest segment, as a worker does. */
async function refreshSegment(): Promise<void> {
  const deps = {
    ...store,
    takeAudienceSlot: semaphore(1),
    boundary() {},
    batchRecords: 100,
    draining: new AbortController().signal,
  } as object as Dependencies;
  const context = { info: {}, heartbeat() {}, cancellationSignal: new AbortController().signal } as object as Context;
  await asyncLocalStorage.run(context, () => refreshSegmentsSteps(deps).refreshSegment(world.entity.id));
}

const inBalance = (page: { getByLabel: (name: string) => { innerText: () => Promise<string> } }) =>
  page
    .getByLabel('Balance')
    .innerText()
    .then((text) => text.replaceAll(/\s+/g, ' '));

describe.skipIf(browser.open === null)('funnels', () => {
  test('are made of events, counted, and those who stopped become a segment of that number', async () => {
    const { email } = await makePerson(store, world);
    const tab = await browser.open!();
    await logIn(tab, email, '/console/funnels');
    const { page } = tab;
    await page.getByRole('main').getByRole('link', { name: 'New funnel' }).first().click();
    await page.getByLabel('Event of step 1').fill('Viewed');
    await page.getByLabel('Event of step 2').fill('Orderd');
    await page.getByText('The app has sent no such event.').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Take “Ordered”' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Sale');
    await page.getByRole('button', { name: 'Store the funnel' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sale' }).waitFor();
    await page.getByText('Exact', { exact: true }).first().waitFor();
    expect(await inBalance(page)).toContain('160 people began = 40 finished, 25.0 % + 120 stopped after 1');
    // Half took 2 minutes, the start of the first of 6 bars; nine in ten took 66, a little way into the last one.
    const lines = page.locator('line.mark');
    const places = await lines.evaluateAll((all) => all.map((line) => Number(line.getAttribute('x1'))));
    expect(places.map(Math.round)).toEqual([0, 856]);
    await page.getByLabel('Within', { exact: true }).fill('1');
    await page.getByLabel('Within: unit').selectOption('hours');
    await page.getByRole('button', { name: 'Count within it' }).click();
    await page.getByText('Counted within 1 hour; the stored funnel has 30 days.').waitFor();
    await expect.poll(() => inBalance(page)).toContain('160 people began = 32 finished, 20.0 % + 128 stopped after 1');
    expect(await page.getByRole('button', { name: 'Make a segment of them' }).count()).toBe(0);
    await page.getByRole('button', { name: 'As stored' }).click();
    await expect.poll(() => inBalance(page)).toContain('40 finished');
    await page.getByRole('button', { name: 'What they did instead' }).click();
    await page.getByRole('row', { name: /^Added 40/ }).waitFor();
    await page.getByRole('button', { name: 'People after step 1' }).click();
    await page.getByRole('button', { name: 'Show these people' }).click();
    await page.getByText('The latest 100 of 120.').waitFor();
    const { rows } = await store.db.query<{ looks: number }>(
      `SELECT count(*)::integer AS looks FROM audit_log WHERE entity_id = $1 AND subject_kind = 'customer'`,
      [world.entity.id],
    );
    expect(rows).toEqual([{ looks: 100 }]);
    await page.getByLabel('Divided by').selectOption('week');
    await page.getByRole('row', { name: /^All 160 25.0 %/ }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 900 });
    expect([await isTooWide(page), await violationsOf(page)]).toEqual([false, []]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('button', { name: 'Make a segment of them' }).click();
    await page.getByRole('button', { name: 'Make the segment' }).click();
    await page.getByText('Its people are being counted.').waitFor();
    await refreshSegment();
    await page.getByRole('status').filter({ hasText: 'has 120 people.' }).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByText('Archived').waitFor();
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('In use').waitFor();
    await page.getByRole('link', { name: 'Edit as a copy' }).click();
    await expect.poll(() => page.getByLabel('Event of step 2').inputValue()).toBe('Ordered');
    expect(tab.faults).toEqual([]);
  });

  test('are counted fast first, and exactly in the place of that, never both in one balance', async () => {
    await store.db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
       SELECT $1, $2, 'other-' || n, 'other-' || n, now() FROM generate_series(1, 10000) n`,
      [world.entity.id, app.id],
    );
    const steps = [{ match_name: [{ app_id: app.identifier, log_type: 2, log_name: 'Viewed' }] }];
    const { rows } = await store.db.query<{ identifier: string }>(
      `INSERT INTO funnels (entity_id, identifier, name, max_duration, steps, app_ids)
       VALUES ($1, 'fun_fast', 'Fast', 60, $2, $3) RETURNING identifier`,
      [world.entity.id, JSON.stringify(steps), [app.id]],
    );
    const { email } = await makePerson(store, world);
    const tab = await browser.open!();
    await logIn(tab, email);
    const { page } = tab;
    const held = Promise.withResolvers<void>();
    const exact = '**/api/funnels/quick_stats*mode=accurate*';
    const refuse = (http: number, answer: object) =>
      page.route(exact, (route) => route.fulfill({ status: http, json: { success: false, ...answer } }), { times: 1 });
    await refuse(503, { status: 'too_long', error_message: 'This took longer than 120 seconds' });
    await page.goto(`/console/funnels/${rows[0]!.identifier}?count=exact`);
    await page.getByText('Fast: estimated from a sample of people').waitFor();
    expect(await inBalance(page)).toMatch(/Estimated: the [\d,]+ who began may be off by \d+\./);
    const refused = page.getByRole('alert');
    await refused.getByText('This took longer than 120 seconds').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await refused.getByRole('button', { name: 'Count fast' }).click();
    await refused.waitFor({ state: 'detached' });
    const busy = { status: 'too_many_requests', error_message: '20 wait already', retry_after: 90 };
    await refuse(429, busy);
    await page.getByRole('button', { name: 'Exact', exact: true }).click();
    await refused.getByText(/Again in \d+ s\./).waitFor();
    expect(await refused.getByRole('button', { name: 'Try again' }).isDisabled()).toBe(true);
    await page.route(exact, async (route) => {
      await held.promise;
      await route.continue();
    });
    await refuse(503, { status: 'too_long', error_message: 'This took longer than 120 seconds' });
    await page.getByLabel('From, UTC').fill('2026-01-01');
    await refused.getByRole('button', { name: /^Count the last 30 of these \d+ days$/ }).click();
    await page.getByText('Counting exactly').waitFor();
    held.resolve();
    await page.getByText('Exact', { exact: true }).and(page.locator('.chip')).waitFor({ timeout: 20_000 });
    expect(await inBalance(page)).toContain('160 people = 160 finished, 100.0 %');
    await page.getByText('the fast answer was').waitFor();
    expect(tab.faults).toEqual([]);
  });
});
