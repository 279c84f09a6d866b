/** Every page of the console: with nothing in it, without rights, while the server fails, is slow, or has news. */
import type { Locator, Page, Route } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { CALLED_OPERATIONS } from '../../api/core/called-operations.ts';
import { routes } from '../../server/routes.ts';
import { PAGES } from '../../web/pages/index.ts';
import {
  builtConsole,
  isTooWide,
  logIn,
  makePerson,
  type Tab,
  useBrowser,
  violationsOf,
} from '../harness/console/console.ts';
import { sampled, TRIES_ALL } from '../harness/run/seed.ts';
import { makeSample, type Sample } from '../server/http/samples.ts';
import { testServer } from '../server/http/test-server.ts';
import { useServer } from '../server/http/use-server.ts';

const { store, world } = useServer();
const browser = useBrowser();
/** Pages of one record need that record: the tests of their feature open them. */
const LISTS = PAGES.filter(({ path }) => !path.includes('$'));
const MENU = LISTS.filter(({ menu }) => menu !== undefined);
const AUDITED = new Set(CALLED_OPERATIONS.filter(({ isAudited }) => isAudited).map(({ id }) => id));
const READ_AT_ONCE = MENU.filter(({ needs }) => needs.length > 0 && !needs.some((name) => AUDITED.has(name)));

/** Looks of a page, one of which is scanned: axe takes as long as all else on a page. */
const LOOKS = [
  { width: 1280, scheme: 'light' },
  { width: 320, scheme: 'dark' },
] as const;

/** Addresses of pages that show a record, or a person, of a sample. */
const ADDRESSES: Record<string, (own: Sample) => string> = {
  '/imports/$id': ({ importId }) => `/imports/${importId}`,
  '/sends/$id': ({ sent }) => `/sends/${sent.requestId}`,
  '/feeds/$id': ({ requestId }) => `/feeds/${requestId}`,
  '/syncs/$id': ({ sync }) => `/syncs/${sync.identifier}`,
  '/syncs/$id/edit': ({ sync }) => `/syncs/${sync.identifier}/edit`,
  '/syncs/$id/runs/$run': ({ sync }) => `/syncs/${sync.identifier}/runs/${sync.waitingRunId}`,
  '/sync-runs/$run': ({ sync }) => `/sync-runs/${sync.endedRunId}`,
  '/connections/$id': ({ connection }) => `/connections/${connection.identifier}`,
  '/sors/$id': ({ sor }) => `/sors/${sor.identifier}`,
  '/apps/$id/events': ({ app }) => `/apps/${app.identifier}/events`,
  '/apps/$id/sessions': ({ app }) => `/apps/${app.identifier}/sessions`,
  '/apps/$id/devices': ({ app }) => `/apps/${app.identifier}/devices`,
  '/apps/$id/locations': ({ app }) => `/apps/${app.identifier}/locations`,
  '/apps/$id/crashes': ({ app }) => `/apps/${app.identifier}/crashes`,
  '/apps/$id/crashes/$crash': ({ app, crash }) => `/apps/${app.identifier}/crashes/${crash}`,
  '/exports/$id': ({ exporter }) => `/exports/${exporter.identifier}`,
  '/export-runs/$run': ({ exporter }) => `/export-runs/${exporter.endedRunId}`,
  '/campaigns/$id': ({ campaigns }) => `/campaigns/${campaigns.ongoing}`,
  '/privacy/$id': ({ gdpr }) => `/privacy/${gdpr.deletionId}`,
  '/segments/$id': ({ segment }) => `/segments/${segment}`,
  '/segments/$id/edit': ({ segment }) => `/segments/${segment}/edit`,
  '/funnels/$id': ({ funnel }) => `/funnels/${funnel}`,
  '/apps/$id': ({ app }) => `/apps/${app.identifier}`,
  '/apps/$id/edit': ({ app }) => `/apps/${app.identifier}/edit`,
  '/apps/$id/wallet': ({ app }) => `/apps/${app.identifier}/wallet`,
  '/people': ({ person }) => `/people#${new URLSearchParams({ user_id: person }).toString()}`,
};

/** Pages that ask for news while work is under way: what changes under them, and where a page says it. */
type Polled = { path: string; change: string; news: (page: Page) => Locator };
const UNDER_WAY = "entity_id = $1 AND state IN ('accepted', 'running')";
const ofJobs = (path: string, table: string): Polled => {
  const stage = `stage of ${path.replaceAll(/[^a-z]/g, '')}`;
  return {
    path,
    change: `UPDATE ${table} SET state = 'running', stage = '${stage}' WHERE ${UNDER_WAY}`,
    news: (page) => page.getByText(new RegExp(stage, 'i')).first(),
  };
};
const ofRequest = (path: string, type: string): Polled => ({
  path,
  change: `UPDATE gdpr_requests SET state = 'running' WHERE ${UNDER_WAY} AND request_type = '${type}'`,
  news: (page) => page.locator('.chip').getByText('running', { exact: true }).first(),
});
const POLLED: readonly Polled[] = [
  ofJobs('/imports', 'imports'),
  ofJobs('/imports/$id', 'imports'),
  {
    path: '/feeds/$id',
    change: "UPDATE systems_of_records SET name = 'Renamed' WHERE entity_id = $1",
    news: (page) => page.getByText('Renamed').first(),
  },
  ofJobs('/syncs/$id', 'sync_runs'),
  ofJobs('/syncs/$id/runs/$run', 'sync_runs'),
  ofJobs('/exports/$id', 'export_runs'),
  {
    path: '/sends/$id',
    change: `UPDATE sends SET state = 'running' WHERE ${UNDER_WAY} AND campaign_id IS NULL`,
    news: (page) => page.locator('.chip').getByText('running', { exact: true }).first(),
  },
  ofRequest('/privacy', 'access'),
  ofRequest('/privacy/$id', 'delete'),
];

beforeAll(async () => {
  const served = await testServer(store, { console: await builtConsole() });
  browser.at(await served.app.listen({ port: 0, host: '127.0.0.1' }));
});

/** Opens a page by its address, and waits until it has read what it shows. */
async function show({ page }: Tab, path: string): Promise<void> {
  await page.goto(`/console${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
}

/** A sample of every kind of object, and a tab of somebody who may see all of it. */
async function openSample(): Promise<{ own: Sample; tab: Tab }> {
  const own = await makeSample(
    store,
    routes.find(({ id }) => id === 'viewSystem')!,
  );
  const { email, id } = await makePerson(store, own);
  await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [id]);
  const tab = await browser.open!();
  await logIn(tab, email);
  return { own, tab };
}

const addressOf = (path: string, own: Sample): string => ADDRESSES[path]?.(own) ?? path;

/** Calls of a page, but for those of its session: passed on, held back, or failed. */
type Calls = { sent: Route[]; hold: () => void; fail: () => Promise<void>; pass: () => Promise<void> };

async function callsOf({ page }: Tab): Promise<Calls> {
  const pass = (route: Route): Promise<void> => route.continue();
  const fail = (route: Route): Promise<void> =>
    route.fulfill({ status: 500, json: { success: false, status: 500, error_message: 'Out of order' } });
  let answer: ((route: Route) => Promise<void>) | null = pass;
  const sent: Route[] = [];
  await page.route('**/api/**', (route) => {
    if (new URL(route.request().url()).pathname === '/api/session') return route.continue();
    sent.push(route);
    return answer?.(route);
  });
  const answerBy = async (next: typeof pass): Promise<void> => {
    const held = answer === null ? sent.splice(0) : [];
    answer = next;
    await Promise.all(held.map(next));
  };
  return {
    sent,
    hold() {
      answer = null;
      sent.length = 0;
    },
    fail: () => answerBy(fail),
    pass: () => answerBy(pass),
  };
}

/** Asks for the looks that the page offers, each by its button. */
async function look(page: Page): Promise<void> {
  const looks = page.locator('main button[type="button"]', { hasText: /^Show (?:the|these|this|who) / });
  for (let left = await looks.count(); left > 0; left = await looks.count()) {
    await looks.first().click();
    await expect.poll(() => looks.count()).toBeLessThan(left);
  }
}

async function countLooks({ entity }: Sample): Promise<number> {
  const { rows } = await store.db.query<{ looks: number }>(
    "SELECT count(*)::integer AS looks FROM audit_log WHERE entity_id = $1 AND action = 'read'",
    [entity.id],
  );
  return rows[0]!.looks;
}

/** Parts of a page that do not depend on the time: its headings, and how many rows it has. */
async function standing(page: Page): Promise<unknown> {
  const main = page.getByRole('main');
  return [await main.getByRole('heading').allInnerTexts(), await main.getByRole('row').count()];
}

const kindOf = ({ path, needs }: (typeof PAGES)[number]): string[] => [
  path.includes('$')
    ? 'record'
    : path.endsWith('/new')
      ? 'form'
      : needs.some((id) => AUDITED.has(id))
        ? 'look'
        : 'list',
];

describe.skipIf(browser.open === null)('each page', () => {
  const open = browser.open!;

  test('is right for everyone, light and dark, wide and narrow, while there is nothing yet', async () => {
    const { email, id } = await makePerson(store, world);
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [id]);
    const tab = await open();
    await logIn(tab, email);
    for (const { path, title } of LISTS) {
      await show(tab, path);
      expect(await tab.page.title()).toBe(`${title} · Millrace`);
      const scanned = sampled(`looks of ${path}`, LOOKS, 0.5);
      for (const look of LOOKS) {
        await tab.page.emulateMedia({ colorScheme: look.scheme });
        await tab.page.setViewportSize({ width: look.width, height: 900 });
        const found = scanned.includes(look) ? await violationsOf(tab.page) : [];
        const state = { path, ...look };
        expect({ ...state, isTooWide: await isTooWide(tab.page), found }).toEqual({
          ...state,
          isTooWide: false,
          found: [],
        });
      }
      expect({ path, faults: tab.faults }).toEqual({ path, faults: [] });
    }
  });

  test('names the right that it needs, and asks for nothing that would be refused', async () => {
    const { email } = await makePerson(store, world, { rights: [], admin: false });
    const tab = await open();
    await logIn(tab, email);
    for (const { path, title, needs } of MENU) {
      const isOpen = needs.length === 0 || title === 'Tokens';
      const links = await tab.page.getByRole('link', { name: title, exact: true }).count();
      await show(tab, path);
      const refusals = await tab.page.getByText(/^Needs the (right|role) /).count();
      expect({ path, links, refusals }).toEqual({ path, links: isOpen ? 1 : 0, refusals: isOpen ? 0 : 1 });
    }
    expect(tab.faults).toEqual([]);
  });

  test('stands whatever an address holds, and makes no command of it', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    await logIn(tab, email);
    const odd = '$(touch x)';
    for (const path of [
      `/imports/new?sor=${encodeURIComponent(odd)}`,
      '/imports/new?sor=..',
      '/imports/new?redrive_of=..',
      '/imports?sor=%00&show=constructor',
      '/privacy?state=__proto__&type=constructor',
      '/exports/a%2Fb?day=tomorrow&until=-1',
    ]) {
      await show(tab, path);
      expect({ path, faults: tab.faults }).toEqual({ path, faults: [] });
      expect(await tab.page.getByRole('main').innerText()).not.toContain(odd);
    }
  });

  test('reads on after a page that failed, and looks at none twice', async () => {
    const { email, id } = await makePerson(store, world);
    await store.db.query(
      `INSERT INTO audit_log (entity_id, actor_kind, action, subject_kind)
       SELECT $1, 'system', 'login', 'session' FROM generate_series(1, 250)`,
      [world.entity.id],
    );
    const looks = async () => {
      const { rowCount } = await store.db.query(`SELECT FROM audit_log WHERE actor_id = $1 AND action = 'read'`, [id]);
      return rowCount;
    };
    const tab = await open();
    await logIn(tab, email, '/console/admin/audit');
    const rows = tab.page.getByRole('table').getByRole('row');
    await tab.page.getByRole('button', { name: 'Show the entries' }).click();
    await expect.poll(() => rows.count()).toBe(101);
    await tab.page.route('**/api/audit_log*', (route) => route.fulfill({ status: 500, body: '' }));
    await tab.page.getByRole('button', { name: 'Next 100' }).click();
    const again = tab.page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await tab.page.unroute('**/api/audit_log*');
    await again.click();
    await expect.poll(() => rows.count()).toBe(201);
    expect(await looks()).toBe(2);
    expect(tab.faults).toEqual([]);
  });

  test('says what failed and offers to try again, while the server fails', async () => {
    const { email } = await makePerson(store, world);
    const tab = await open();
    await logIn(tab, email);
    const failing = '**/api/**';
    for (const { path } of READ_AT_ONCE.slice(0, 3)) {
      await tab.page.route(failing, (route) =>
        route.request().url().endsWith('/api/session')
          ? route.continue()
          : route.fulfill({ status: 500, json: { success: false, status: 500, error_message: 'Out of order' } }),
      );
      await show(tab, path);
      await tab.page.getByText('Out of order').first().waitFor();
      expect({ path, found: await violationsOf(tab.page) }).toEqual({ path, found: [] });
      await tab.page.unroute(failing);
      const again = tab.page.getByRole('button', { name: 'Try again' });
      for (let left = await again.count(); left > 0; left -= 1) {
        await again.first().click();
        await expect.poll(() => again.count()).toBe(left - 1);
      }
    }
    expect(tab.faults).toEqual([]);
  });

  test('is headed and says that it reads while answers are slow, and shows them once they are there', async () => {
    const { own, tab } = await openSample();
    const { page, faults } = tab;
    const calls = await callsOf(tab);
    const widths = TRIES_ALL ? ([1280, 320] as const) : ([320] as const);
    for (const shown of sampled('slow pages', PAGES, 0.125, kindOf)) {
      const { path } = shown;
      // A page that is being left may still ask for something: held back, that would count as a call of the next one.
      await page.goto('about:blank');
      calls.hold();
      await page.goto(`/console${addressOf(path, own)}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      // A list behind a press shows nothing before it, while the name of its app may be asked for.
      if (shown.needs.some((id) => AUDITED.has(id))) await look(page);
      if (calls.sent.length > 0) await page.locator('main .skeleton').first().waitFor();
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: width === 320 ? 'dark' : 'light' });
        const headings = await page.getByRole('heading', { level: 1 }).count();
        const found = await violationsOf(page);
        expect({ path, headings, isTooWide: await isTooWide(page), found }).toEqual({
          path,
          headings: 1,
          isTooWide: false,
          found: [],
        });
      }
      await calls.pass();
      await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      const said = await page.getByRole('alert').allInnerTexts();
      expect({ path, said, faults }).toEqual({ path, said: [], faults: [] });
    }
  });

  test('of a run says until when it waits for a quota, which is no retry', async () => {
    const { own, tab } = await openSample();
    const fault = 'api.example.com has counted 81 of the 100 calls of its quota.';
    const note = tab.page.getByRole('status').filter({ hasText: fault });
    const waits = `UPDATE sync_runs SET state = 'running', fault = $2, tries = $3, waits_until = now() + interval '2 hours'
      WHERE identifier = $1`;
    for (const [tries, text, other] of [
      [0, 'The run continues', 'Tried'],
      [2, 'Tried 2 times, again', 'continues'],
    ] as const) {
      await store.db.query(waits, [own.sync.waitingRunId, fault, tries]);
      await show(tab, addressOf('/syncs/$id/runs/$run', own));
      expect(await note.textContent()).toContain(text);
      expect(await note.textContent()).not.toContain(other);
      expect(await violationsOf(tab.page)).toEqual([]);
    }
    expect(tab.faults).toEqual([]);
  });

  test('shows news by itself, keeps what it has while asking fails, and looks no second time', async () => {
    const { own, tab } = await openSample();
    const { page, faults } = tab;
    const calls = await callsOf(tab);
    await page.setViewportSize({ width: 320, height: 900 });
    const kindsOf = ({ path }: Polled): string[] => [path.includes('$') ? 'record' : 'list'];
    for (const { path, change, news } of sampled('polled pages', POLLED, 0.125, kindsOf)) {
      await show(tab, addressOf(path, own));
      await look(page);
      await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      const looks = await countLooks(own);
      const before = await standing(page);
      const stale = page.getByText('Not up to date. As of').first();
      calls.hold();
      await expect.poll(() => calls.sent.length).toBeGreaterThan(0);
      const asked = calls.sent.map((route) => route.request().headers()['x-millrace-background']);
      expect({ path, asked: [...new Set(asked)], shown: await standing(page) }).toEqual({
        path,
        asked: ['1'],
        shown: before,
      });
      await calls.fail();
      await stale.waitFor();
      await page.getByText('Out of order').first().waitFor();
      expect({ path, shown: await standing(page) }).toEqual({ path, shown: before });
      expect({ path, isTooWide: await isTooWide(page), found: await violationsOf(page) }).toEqual({
        path,
        isTooWide: false,
        found: [],
      });
      expect(await news(page).count()).toBe(0);
      await store.db.query(change, [own.entity.id]);
      await calls.pass();
      await news(page).waitFor();
      await expect.poll(() => stale.count()).toBe(0);
      expect({ path, looks: await countLooks(own), faults }).toEqual({ path, looks, faults: [] });
    }
  });
});
