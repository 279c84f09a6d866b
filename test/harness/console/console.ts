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
export function useBrowser(): { open: ((options?: ContextOptions) => Promise<Tab>) | null; at: (url: string) => void } {
  const path = needChromium();
  let browser: Browser;
  let base = '';
  beforeAll(async () => {
    if (path === null) return;
    browser = await chromium.launch({
      executablePath: path,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    onFileEnd(() => browser.close());
  });
  return {
    open: path === null ? null : (options) => openTab(browser, base, options),
    at: (url) => {
      base = url;
    },
  };
}

type ContextOptions = { width?: number; scheme?: 'light' | 'dark'; context?: BrowserContext };

/** A tab, and everything that it did wrong: violations of the policy, errors, refusals for want of a right. */
export type Tab = { page: Page; faults: string[]; context: BrowserContext };

async function openTab(
  browser: Browser,
  baseURL: string,
  { width = 1280, scheme = 'light', context }: ContextOptions = {},
): Promise<Tab> {
  const within =
    context ??
    (await browser.newContext({
      baseURL,
      viewport: { width, height: 900 },
      colorScheme: scheme,
      reducedMotion: 'reduce',
    }));
  const page = await within.newPage();
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
  return { page, faults, context: within };
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
  const passwordHash = await hashPassword(PASSWORD);
  const user = await insertUser(db, { email, passwordHash, preferedEntityId: entity.id });
  await insertMembership(db, { userId: user.id, entityId: entity.id, rights: [...rights], admin });
  return { email, id: user.id };
}

/** Logs in as a person does, at the page that `path` asks for. */
export async function logIn({ page }: Tab, email: string, path = '/console/'): Promise<void> {
  await page.goto(path);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
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
  await session.send('Runtime.evaluate', { expression: axe.source });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then(({ violations }) =>
      JSON.stringify(violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target).join(', '))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails) throw new Error(exceptionDetails.text);
  return JSON.parse(result.value as string) as string[];
}

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
