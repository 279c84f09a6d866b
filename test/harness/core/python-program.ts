import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sayNotTested } from './not-tested.ts';

const run = promisify(execFile);
const MINUTES = 60_000;

/** What a package of PyPI installs as a command; of this very version, so that a run is like the last. */
export type PythonProgram = { name: string; version: string; program: string };

/**
 * The path of a program from PyPI, in an environment of its own in the cache folder; the first time it is installed
 * there. Null, also in CI, and said as NOT TESTED, if Python or PyPI is out of reach.
 */
export async function pythonProgram({ name, version, program }: PythonProgram): Promise<string | null> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'millrace', 'taps', `${name}-${version}`);
  const path = join(folder, 'bin', program);
  const whole = join(folder, 'whole');
  if (existsSync(whole)) return path;
  try {
    await mkdir(folder, { recursive: true });
    await run('python3', ['-m', 'venv', '--clear', folder], { timeout: MINUTES });
    const install = ['install', '--quiet', '--disable-pip-version-check', `${name}==${version}`];
    await run(join(folder, 'bin', 'pip'), install, { timeout: 5 * MINUTES });
    await writeFile(whole, '');
    return path;
  } catch (error) {
    const reason = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1) || (error as Error).message;
    sayNotTested(`${name} ${version}, which can't be installed from PyPI: ${reason}`);
    return null;
  }
}
