import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onFileEnd } from '../core/clean-up.ts';
import { failInCi } from '../core/not-tested.ts';
import { CHROMIUM_NAMES, findChromium } from './find-chromium.ts';

/** Returns the first Chromium on PATH; null if there is none, which is a failure in CI. */
export function needChromium(): string | null {
  const found = findChromium();
  if (found === null)
    failInCi(`pages in a browser: no ${CHROMIUM_NAMES.join(', ')} on PATH; install Debian's package chromium`);
  return found;
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
