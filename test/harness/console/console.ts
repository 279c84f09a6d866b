/** The console in a real browser, over a test's server: what its pages show, and what they must never do. */
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { pino } from 'pino';
import { beforeAll, expect } from 'vitest';
import { RIGHTS, type Right } from '../../../domain/accounts/rights.ts';
import { openConsole } from '../../../runtime/console-build.ts';
import type { ConsoleFiles } from '../../../server/dependencies.ts';
import { hashPassword } from '../../../server/accounts/passwords.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { needChromium } from './browser.ts';
import { onFileEnd } from '../core/clean-up.ts';
import type { TestStore } from '../core/database.ts';
import type { ForeignPostgres } from '../syncs/foreign-postgres.ts';
import type { World } from '../core/world.ts';

const PASSWORD = 'correct horse battery staple';

/** The build of this checkout: the first test of a machine makes it. */
export async function builtConsole(): Promise<ConsoleFiles> {
  const files = openConsole(pino({ enabled: false }));
  await files.whenBuilt();
  expect(files.built().problem).toBeNull();
  return files;
}

/** A browser of this test file's own; null on a machine without one, which is a failure in CI. */
export function useBrowser(): { open: ((options?: TabOptions) => Promise<Tab>) | null; at: (url: string) => void } {
  const path = needChromium();
  const tabs: KeptTabs = new Map();
  let browser: Browser;
  let base = '';
  beforeAll(async () => {
    if (path === null) return;
    browser = await chromium.launch({ executablePath: path, args: BROWSER_ARGS });
    onFileEnd(() => browser.close());
  });
  return {
    open:
      path === null
        ? null
        : ({ context, ...options } = {}) => (context ? openBeside(context) : openTab(browser, base, tabs, options)),
    at: (url) => {
      base = url;
    },
  };
}

/** One renderer serves all tabs: by default Chromium also starts one ahead for the next tab, mostly for nothing. */
const BROWSER_ARGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--renderer-process-limit=1'];

/** `context` is that of another tab, beside which this one opens. `clock` makes the tab's time the test's to move. */
type TabOptions = { width?: number; scheme?: 'light' | 'dark'; clock?: boolean; context?: BrowserContext };

/** A tab, and everything that it did wrong: violations of the policy, errors, refusals for want of a right. */
export type Tab = { page: Page; faults: string[]; context: BrowserContext };

/** A file's tabs by their time, the browser's or the test's: a tab costs three times as much as what it loads. */
type KeptTabs = Map<boolean, Page>;

/** Opens a tab without a session, as if in a new browser: the file's earlier tabs are closed, or become this one. */
async function openTab(
  browser: Browser,
  baseURL: string,
  tabs: KeptTabs,
  { width = 1280, scheme = 'light', clock = false }: Omit<TabOptions, 'context'>,
): Promise<Tab> {
  const page = tabs.get(clock) ?? (await newTab(browser, baseURL));
  tabs.set(clock, page);
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  for (const event of ['pageerror', 'console', 'response', 'request', 'framenavigated'])
    await page.removeAllListeners(event, { behavior: 'ignoreErrors' });
  // A page of the server's that runs nothing: an address that differs by its fragment alone would load nothing anew.
  await page.goto('/health/live');
  await context.clearCookies();
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme });
  if (clock) await page.clock.install({ time: Date.now() });
  return watched(page);
}

async function newTab(browser: Browser, baseURL: string): Promise<Page> {
  const context = await browser.newContext({ baseURL, reducedMotion: 'reduce' });
  return context.newPage();
}

async function openBeside(context: BrowserContext): Promise<Tab> {
  return watched(await context.newPage());
}

function watched(page: Page): Tab {
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refusal that the page shows is logged by the browser, too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  page.on('response', (reply) => {
    if (reply.status() === 403 || (reply.status() === 404 && reply.url().includes('/assets/')))
      faults.push(`${reply.status()} ${reply.url()}`);
  });
  return { page, faults, context: page.context() };
}

/** Types the settings of a connection to a Postgres without TLS into its form, but for the password. */
export async function fillConnection(
  page: Page,
  name: string,
  { host, port, database, user, schema }: ForeignPostgres['settings'],
): Promise<void> {
  await page.getByText('More settings').click();
  const typed = {
    Name: name,
    Host: host,
    Database: database,
    User: user,
    'Port (optional)': String(port),
    'Schema (optional)': schema,
  };
  for (const [label, value] of Object.entries(typed)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByLabel('TLS (optional)', { exact: true }).selectOption('off');
}

let passwordHash: Promise<string> | undefined;

/** A person of the world's entity who can log in. */
export async function makePerson(
  { db }: TestStore,
  { entity }: World,
  {
    rights = RIGHTS,
    admin = true,
    email = `person-${crypto.randomUUID()}@example.com`,
  }: {
    rights?: readonly Right[];
    admin?: boolean;
    email?: string;
  } = {},
): Promise<{ email: string; id: number }> {
  passwordHash ??= hashPassword(PASSWORD);
  const user = await insertUser(db, { email, passwordHash: await passwordHash, preferedEntityId: entity.id });
  await insertMembership(db, { userId: user.id, entityId: entity.id, rights: [...rights], admin });
  return { email, id: user.id };
}

/** Opens the page that `path` asks for in a session that was begun by the call of the form, without the form. */
export async function logIn({ page }: Tab, email: string, path = '/console/'): Promise<void> {
  const reply = await page.request.post('/api/session', {
    headers: { 'sec-fetch-site': 'same-origin', 'x-millrace-console': '1' },
    data: { email, password: PASSWORD },
  });
  expect(reply.status()).toBe(200);
  await page.goto(path);
  await pageOfSession(page);
}

/** Logs in as a person does, at the page that `path` asks for. */
export async function logInByForm({ page }: Tab, email: string, path: string): Promise<void> {
  await page.goto(path);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await pageOfSession(page);
}

async function pageOfSession(page: Page): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Path' })
    .or(page.getByRole('heading', { level: 1 }))
    .first()
    .waitFor();
  await page.getByLabel('E-mail').waitFor({ state: 'detached' });
}

/** Violations of WCAG 2.2 AA that axe finds, each with the parts that it is about. */
export async function violationsOf(page: Page): Promise<string[]> {
  // The page's policy forbids scripts of others; the debugger's own are not bound by it.
  const session = await page.context().newCDPSession(page);
  try {
    const run = () => session.send('Runtime.evaluate', { expression: AXE, awaitPromise: true, returnByValue: true });
    let { result, exceptionDetails } = await run();
    if (result.value === null) {
      await session.send('Runtime.evaluate', { expression: axe.source });
      ({ result, exceptionDetails } = await run());
    }
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return JSON.parse(result.value as string) as string[];
  } finally {
    await session.detach();
  }
}

/** Runs axe in a page; null if the page does not have it yet. */
const AXE = `globalThis.axe?.run({
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
    resultTypes: ['violations'],
  }).then(({ violations }) =>
    JSON.stringify(violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target).join(', ')))) ?? null`;

/** Names of the tables that are wider than their panel: their last columns must be scrolled to. */
export function cutTables(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)
      .map((each) => each.getAttribute('aria-label'))`,
  );
}

/** Whether the page is wider than its window: what lies beyond must be scrolled to. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}
