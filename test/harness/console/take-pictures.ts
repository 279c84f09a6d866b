/** `npm run docs:pictures [name...]`: takes the docs' pictures, all or some, from a demo of its own. Needs Chromium. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { type Client, createClient } from '../../../api/client.ts';
import { rememberedPort } from '../../../runtime/embedded/ports.ts';
import { findChromium } from './find-chromium.ts';
import { withPalette } from './palette-png.ts';
import { type Picture, PICTURES } from './pictures.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'docs/pictures');
const EMAIL = process.env['MILLRACE_ADMIN_EMAIL'] ?? 'ada@example.com';
const PASSWORD = process.env['MILLRACE_ADMIN_PASSWORD'] ?? 'only for these pictures';
const READY = 'Up until Ctrl-C.';
const WIDTH = 1280;

const named = process.argv.slice(2);
const wanted = named.length === 0 ? PICTURES : PICTURES.filter(({ name }) => named.includes(name));

/** MILLRACE_URL of a demo that runs saves its start. */
const given = process.env['MILLRACE_URL'];
if (given === undefined) await withDemo(takeAll);
else await takeAll(given);

async function withDemo(use: (url: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-pictures-'));
  const port = await rememberedPort(folder, 'demo', () => undefined);
  const demo = spawn(process.execPath, [join(ROOT, 'runtime/demo.ts')], {
    env: {
      ...process.env,
      PORT: String(port),
      MILLRACE_DATA_DIR: join(folder, 'data'),
      MILLRACE_ADMIN_EMAIL: EMAIL,
      MILLRACE_ADMIN_PASSWORD: PASSWORD,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await untilReady(demo);
    await use(`http://127.0.0.1:${port}`);
  } finally {
    const ended = once(demo, 'exit');
    if (demo.exitCode === null && demo.kill('SIGINT')) await ended;
    await rm(folder, { recursive: true, force: true });
  }
}

async function untilReady({ stdout }: ChildProcess): Promise<void> {
  let said = '';
  for await (const chunk of stdout!.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (said.includes(READY)) break;
  }
  if (!said.includes(READY)) throw new Error(`the demo ended early:\n${said}`);
  stdout!.resume();
}

async function takeAll(url: string): Promise<void> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error('There is no Chromium on PATH: install the package chromium');
  const { auth_token: token } = await createClient({ url }).login({ body: { email: EMAIL, password: PASSWORD } });
  const client = createClient({ url, token });
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  });
  try {
    const page = await browser.newPage({
      baseURL: url,
      // High enough for every page: bars that stick to the window's end lie at the page's end.
      viewport: { width: WIDTH, height: 2400 },
      deviceScaleFactor: 1,
      colorScheme: 'light',
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
    });
    await logIn(page);
    for (const picture of wanted) await take(page, client, picture);
  } finally {
    await browser.close();
  }
}

async function logIn(page: Page): Promise<void> {
  await page.goto('/console/');
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
}

async function take(page: Page, client: Client, picture: Picture): Promise<void> {
  const { name, path, prepare, until, from, height, withMenu } = picture;
  await page.goto(`/console${await path(client)}`);
  await prepare?.(page);
  await page.getByText(until).first().waitFor();
  await page.waitForLoadState('networkidle');
  const main = (await page.locator('main').boundingBox())!;
  const panel =
    from === undefined ? main : (await page.getByRole('region', { name: from, exact: true }).boundingBox())!;
  const margin = from === undefined ? 0 : 12;
  const clip = withMenu
    ? { x: 0, y: 0, width: WIDTH, height }
    : { x: panel.x - margin, y: panel.y - margin, width: panel.width + 2 * margin, height };
  await page.mouse.move(0, 0); // a row below it would look chosen
  await writeFile(join(FOLDER, `${name}.png`), withPalette(await page.screenshot({ clip, caret: 'hide' })));
}
