import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { onFileEnd } from '../core/clean-up.ts';
import { failInCi } from '../core/not-tested.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The first Chromium on PATH; null where there is none, which is a failure in CI. */
export function findChromium(): string | null {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find(isProgram);
  if (found === undefined)
    failInCi(`pages in a browser: no ${NAMES.join(', ')} on PATH; install Debian's package chromium`);
  return found ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars'];

/** What becomes of a page in a browser, once its scripts have run. */
export async function renderedPage(chromium: string, html: string): Promise<string> {
  const profile = newProfile();
  const page = join(profile, 'page.html');
  await writeFile(page, html);
  try {
    const { stdout } = await promisify(execFile)(chromium, [
      ...FLAGS,
      `--user-data-dir=${profile}`,
      '--dump-dom',
      `file://${page}`,
    ]);
    return stdout;
  } finally {
    await deleteProfile(profile);
  }
}

function newProfile(): string {
  return mkdtempSync(join(tmpdir(), 'millrace-browser-'));
}

function deleteProfile(profile: string): Promise<void> {
  return rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** Opens a page in a browser without a window, until the file of tests is through. */
export function openPage(chromium: string, url: string): void {
  const profile = newProfile();
  const browser: ChildProcess = spawn(
    chromium,
    [...FLAGS, '--remote-debugging-port=0', `--user-data-dir=${profile}`, url],
    { stdio: 'ignore' },
  );
  onFileEnd(async () => {
    const ended = once(browser, 'exit');
    if (browser.exitCode === null && browser.kill()) await ended;
    await deleteProfile(profile);
  });
}
