/** The explorer: what happened by day and kind, lists behind a press, people only in the fragment, and a crash. */
import { beforeAll, describe, expect, test } from 'vitest';
import { asBytes } from '../../store/core/files.ts';
import { insertEventDefinitions } from '../../store/tracking/event-definitions.ts';
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
import { ensureSampleMonths } from '../harness/tracking/sdk-samples.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();
const ANNE = personId(970_001);
const PHONE = 'phone of 970001';
const DAYS = 'from=2026-11-04&until=2026-11-06';
let app: { id: number; identifier: string };

beforeAll(async () => {
  const { entity } = world;
  await ensureSampleMonths(store.db);
  app = await insertSampleApp(store.db, entity.id, 'com.example.explored');
  const kinds = ['Viewed', 'Ordered'].map((name) => ({ logType: 2 as const, name }));
  await insertEventDefinitions(store.db, entity.id, app.id, [...kinds, { logType: 1, name: 'Application Crashed' }]);
  const {
    rows: [crash],
  } = await store.db.query<{ id: number }>(
    `INSERT INTO crashes (entity_id, app_id, identifier, fingerprint, title, first_seen_at, last_seen_at, occurrences)
     VALUES ($1, $2, 'crs_explored', '\\x01', 'Out of memory', '2026-11-05', '2026-11-05', 1) RETURNING id`,
    [entity.id, app.id],
  );
  await store.db.query(
    `WITH session AS (
       INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id, user_id, app_version)
       VALUES ($1, $2, '2026-11-05T10:00Z', '2026-11-05T10:05Z', 120, 'd' || $4, $4, $3, '2.1.0') RETURNING id)
     INSERT INTO events (entity_id, app_id, happened_at, session_id, crash_id, device_id, user_id, log_type, name, detail)
     SELECT $1, $2, at::timestamptz, session.id, crash, $4, $3, type, name, detail::jsonb FROM session, (VALUES
       ('2026-11-02T10:00Z', NULL, 2, 'Viewed', NULL), ('2026-11-05T10:00Z', NULL, 2, 'Viewed', NULL),
       ('2026-11-05T10:01Z', NULL, 2, 'Viewed', '{"page": "shoes"}'), ('2026-11-05T10:02Z', NULL, 2, 'Ordered', '{"order": 9223372036854775807}'),
       ('2026-11-05T10:03Z', $5::integer, 1, 'Application Crashed', '{"stack": "at main.js:1"}')) AS given (at, crash, type, name, detail)`,
    [entity.id, app.id, ANNE, PHONE, crash!.id],
  );
  await store.db.query(
    `INSERT INTO tracked_counts (entity_id, app_id, day, events, sessions) VALUES ($1, $2, '2026-11-02', 1, 0), ($1, $2, '2026-11-05', 4, 1)`,
    [entity.id, app.id],
  );
  await store.db.query(
    `INSERT INTO devices (entity_id, app_id, device_id, current_user_id, first_seen_at, last_seen_at, app_version)
     VALUES ($1, $2, $4, $3, '2026-11-05', '2026-11-05', '2.1.0')`,
    [entity.id, app.id, ANNE, PHONE],
  );
  await store.db.query(
    `INSERT INTO locations (entity_id, app_id, happened_at, device_id, user_id, latitude, longitude)
     SELECT $1, $2, '2026-11-05T10:02Z', $4, $3, latitude, -2.5 FROM unnest('{48.85,52.5}'::float[]) AS given (latitude)`,
    [entity.id, app.id, ANNE, PHONE],
  );
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

async function opened(path: string, more: Parameters<typeof makePerson>[2] = {}): Promise<Tab> {
  const { email } = await makePerson(store, world, more);
  const tab = await browser.open!();
  await logIn(tab, email, `/console/apps/${app.identifier}${path}`);
  return tab;
}

/** Finishes the file that is being made, as a worker does. */
async function finishFile(): Promise<void> {
  await store.files.put('files/explored.csv', asBytes('session_id\n'));
  await store.db.query(
    `UPDATE file_jobs SET state = 'finished', ended_at = now(), file_key = 'files/explored.csv', file_bytes = 11 WHERE entity_id = $1`,
    [world.entity.id],
  );
}

let seen = 0;

/** Returns the looks in the audit log since the last call. */
async function newLooks(): Promise<string[]> {
  const { rows } = await store.db.query<{ id: number; what: string }>(
    `SELECT id, concat_ws(' ', action, subject_kind, details ->> 'what') AS what FROM audit_log
     WHERE entity_id = $1 AND action IN ('read', 'export') AND id > $2 ORDER BY id`,
    [world.entity.id, seen],
  );
  seen = rows.at(-1)?.id ?? seen;
  return rows.map(({ what }) => what);
}

async function expectSound({ page, faults }: Tab): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 900 });
  expect(await isTooWide(page)).toBe(false);
  await page.setViewportSize({ width: 1280, height: 900 });
  expect(faults).toEqual([]);
}

describe.skipIf(browser.open === null)('the explorer', () => {
  test('shows days and kinds of events without a look, and lists events behind a press', async () => {
    const tab = await opened(`/events?${DAYS}`);
    const { page } = tab;
    const drawing = page.getByRole('img', { name: 'events a day, at most 4' });
    await drawing.waitFor();
    const kinds = page.getByRole('table', { name: 'Kinds of events' }).getByRole('row');
    await expect.poll(() => kinds.nth(1).textContent()).toMatch(/^Viewed\s*211$/);
    await page.getByRole('button', { name: 'Event', exact: true }).click();
    await expect.poll(() => kinds.nth(1).textContent()).toContain('Application Crashed');
    await page.getByRole('button', { name: 'People', exact: true }).click();
    await page.getByText('1 person in these days').waitFor();
    expect(await newLooks()).toEqual([]);
    await page.getByRole('button', { name: 'Show these events' }).click();
    const events = page.getByRole('table', { name: 'Events of the app' }).getByRole('row');
    await expect.poll(() => events.count()).toBe(1 + 4);
    expect(await events.nth(1).textContent()).toContain('Application Crashed');
    await events.nth(2).getByText('Show', { exact: true }).click();
    await page.getByText('{"order":9223372036854775807}').waitFor();
    expect(await newLooks()).toEqual(['read app events']);
    await expectSound(tab);
    await page.getByRole('button', { name: 'Ordered' }).click();
    await page.getByRole('heading', { name: 'Ordered a day' }).waitFor();
    await expect.poll(() => events.count()).toBe(1 + 1);
    await page.getByLabel('Count combinations').check();
    await page.getByRole('columnheader', { name: 'count' }).waitFor();
  });

  test('filters by person say what they write, and stay out of the address that the server gets', async () => {
    const tab = await opened(`/sessions?${DAYS}`);
    const { page } = tab;
    await page.getByText('Only of some people').click();
    await page.getByLabel('User ids').fill(`${ANNE}\nsomebody else`);
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByText('writes an entry for each of these people (2)').waitFor();
    expect(new URL(page.url()).search).not.toContain(ANNE);
    expect(decodeURIComponent(new URL(page.url()).hash)).toContain(ANNE);
    await newLooks();
    await page.getByRole('button', { name: 'Show these sessions' }).click();
    await page.getByRole('cell', { name: '2.1.0' }).waitFor();
    expect(await newLooks()).toEqual(['read customer sessions', 'read customer sessions']);
    await page.getByRole('button', { name: 'As a file' }).click();
    await page.getByText('The file is being made').waitFor();
    await expectSound(tab);
    await finishFile();
    await page.getByRole('link', { name: 'Download the file' }).waitFor();
    // Looking whether it is built is no download.
    expect(await newLooks()).toEqual(['export customer sessions', 'export customer sessions']);
    await expectSound(tab);
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    await page.getByRole('button', { name: 'Show these devices' }).click();
    await page.getByRole('cell', { name: PHONE }).waitFor();
    await expectSound(tab);
    await page.getByRole('link', { name: 'Locations', exact: true }).click();
    await page.getByRole('button', { name: 'Show these locations' }).click();
    const locations = page.getByRole('table', { name: 'Locations of the app' }).getByRole('row');
    await expect.poll(() => locations.count()).toBe(1 + 2);
    await page.getByLabel('Latitude', { exact: true }).fill('48.85');
    await page.getByLabel('Latitude', { exact: true }).press('Enter');
    await expect.poll(() => locations.count()).toBe(1 + 1);
    expect(await locations.nth(1).textContent()).toContain('48.85-2.5');
    await expectSound(tab);
  });

  test('a crash shows its days and versions, and a sample of its stack behind a press', async () => {
    const tab = await opened('/crashes');
    const { page } = tab;
    await page.getByRole('link', { name: 'Out of memory' }).click();
    await page.getByRole('heading', { level: 1, name: 'Crash' }).waitFor();
    await page.goto(`/console/apps/${app.identifier}/crashes/crs_explored?${DAYS}`);
    await page.getByRole('cell', { name: '2.1.0' }).waitFor();
    await page.getByText('1 in these days, on 1 device').waitFor();
    await newLooks();
    await page.getByRole('button', { name: 'Show the newest error of these days' }).click();
    await page.getByText('at main.js:1').waitFor();
    expect(await newLooks()).toEqual(['read customer events']);
    await expectSound(tab);
  });

  test('a count that takes too long offers a shorter period', async () => {
    const tab = await opened('/events?from=2026-10-01&until=2026-11-06');
    const { page, faults } = tab;
    await page.getByRole('img', { name: /^events a day/ }).waitFor();
    const refusal = { success: false, status: 'too_long', error_message: 'This took longer than 120 seconds' };
    await page.route('**/analytics/events?**', (route) => route.fulfill({ status: 503, json: refusal }));
    await page.reload();
    await page.getByText('This took longer than 120 seconds').waitFor();
    await page.unroute('**/analytics/events?**');
    await page.getByRole('button', { name: 'Count the last 7 of these days' }).click();
    await page.getByRole('button', { name: 'Viewed' }).waitFor();
    expect(new URL(page.url()).search).toBe('?from=2026-10-31&until=2026-11-06');
    expect(faults.filter((fault) => !fault.includes('503'))).toEqual([]);
  });
});
