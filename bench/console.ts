/** The console in Chromium: first paint, and the page of an import with many errors. None without Chromium. */
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../test/harness/console/find-chromium.ts';
import type { BenchContext, Line, Size } from './line.ts';
import { atMost } from './report.ts';
import { ADMIN, createSor, importFile } from './service.ts';

const RUNS = 5;
const FIRST_PAINT = 'console, first paint of /console/ on a warm server';
const ERRORS: Record<Size, number> = { quick: 10_000, full: 100_000 };

const rowsTitle = (size: Size) =>
  `console, an import with ${ERRORS[size].toLocaleString('en')} errors, click to first rows`;
const MEMORY = 'the same, memory of the tab';

/** A tab with an empty cache opens `/console/` as a person who is logged in. */
export const firstPaint: Line = {
  key: 'console',
  titles: () => [FIRST_PAINT],
  async *measure(context) {
    const seconds = await measured(context, async (page) => {
      await page.goto('/console/');
      await page.getByRole('heading', { name: 'Home' }).waitFor();
      return (
        (await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)) / 1_000
      );
    });
    if (seconds) yield atMost(FIRST_PAINT, 's', median(seconds), 1);
  },
};

/** From the list of imports to the rows: a click opens the import, and another one asks for its rows. */
export const importPage: Line = {
  key: 'import-page',
  titles: (size) => [rowsTitle(size), MEMORY],
  async *measure(context) {
    const id = await importErrors(context);
    const mebibytes: number[] = [];
    const ms = await measured(context, async (page, browser) => {
      await page.goto('/console/imports');
      await page.locator(`a[href$="${id}"]`).first().waitFor();
      const took = await page.evaluate<number>(`(${CLICK_TO_ROWS})(${JSON.stringify(id)})`);
      const used = await tabMebibytes(browser);
      if (used !== null) mebibytes.push(used);
      return took;
    });
    if (ms) yield atMost(rowsTitle(context.size), 'ms', median(ms), 500);
    if (mebibytes.length > 0) yield atMost(MEMORY, 'MiB', median(mebibytes), 150);
  },
};

/** Runs in the page: returns the ms from the click until the rows are painted. */
const CLICK_TO_ROWS = `async (id) => {
  const find = (look) => new Promise((resolve) => {
    const tick = () => { const found = look(); found ? resolve(found) : requestAnimationFrame(tick); };
    tick();
  });
  const began = performance.now();
  document.querySelector('a[href$="' + id + '"]').click();
  const button = await find(() =>
    [...document.querySelectorAll('button')].find((each) => each.textContent === 'Show these rows'));
  button.click();
  await find(() => document.querySelector('table.grid tbody tr'));
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - began;
}`;

/** Measures in five tabs, each with an empty cache, after one to warm the server; null without Chromium. */
async function measured(
  context: BenchContext,
  measure: (page: Page, browser: Browser) => Promise<number>,
): Promise<number[] | null> {
  const executablePath = findChromium();
  if (executablePath === null) return null;
  const { url } = await context.service();
  await untilBuilt(url);
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  try {
    const first = await browser.newContext({ baseURL: url });
    const storageState = await logIn(first);
    await first.close();
    const figures: number[] = [];
    for (let run = 0; run <= RUNS; run += 1) {
      const tab = await browser.newContext({ baseURL: url, storageState, viewport: { width: 1280, height: 900 } });
      const figure = await measure(await tab.newPage(), browser);
      await tab.close();
      if (run > 0) figures.push(figure);
    }
    return figures;
  } finally {
    await browser.close();
  }
}

/** The first start of a machine builds the console. */
async function untilBuilt(url: string): Promise<void> {
  while (!(await fetch(`${url}/console/`)).ok) await delay(500);
}

async function logIn(context: BrowserContext): ReturnType<BrowserContext['storageState']> {
  const page = await context.newPage();
  await page.goto('/console/');
  await page.getByLabel('E-mail').fill(ADMIN.email);
  await page.getByLabel('Password').fill(ADMIN.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  return context.storageState();
}

/** Imports a file without a good row, and returns the import's id. */
async function importErrors(context: BenchContext): Promise<string> {
  const path = join(context.folder, 'errors.csv');
  const out = createWriteStream(path);
  out.write('user_id,attribute_key,value\n');
  for (let row = 0; row < ERRORS[context.size]; row += 1)
    if (!out.write(`customer-${row},${row % 2 === 0 ? 'revenue,not a number' : 'born,2001-02-30'}\n`))
      await once(out, 'drain');
  out.end();
  await once(out, 'close');
  const service = await context.service();
  const { status } = await importFile(service, await createSor(service), path);
  if (status.rows.failed !== ERRORS[context.size]) throw new Error(`the import went wrong: ${JSON.stringify(status)}`);
  return status.import_id;
}

/** Returns what the tab takes as Chromium's task manager counts it, without shared memory; null without `/proc`. */
async function tabMebibytes(browser: Browser): Promise<number | null> {
  if (!existsSync('/proc/self/status')) return null;
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  // The largest: another one may wait for the next tab.
  return Math.max(...processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => privateMebibytes(id)));
}

function privateMebibytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string) => Number(new RegExp(String.raw`^${name}:\s+(\d+)`, 'm').exec(status)?.[1] ?? 0);
  return (kib('RssAnon') + kib('VmSwap')) / 1_024;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}
