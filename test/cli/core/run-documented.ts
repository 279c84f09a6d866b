import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MILLRACE } from './run-millrace.ts';

const execute = promisify(execFile);

/** What the recipes of the docs ask for, with which Python they are run. */
export const CRYPTOGRAPHY = { name: 'cryptography', version: '50.0.2', program: 'python3' };

/**
 * Runs a piece of shell of the docs in a folder, where `millrace` is the command of this package and `python3` the
 * program given, and gives what it prints. Fails as soon as any part of it fails.
 */
export async function runDocumented(
  code: string,
  folder: string,
  python: string | null,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const programs = await mkdtemp(join(tmpdir(), 'millrace-programs-'));
  try {
    await writeFile(join(programs, 'millrace'), `#!/bin/sh\nexec '${process.execPath}' '${MILLRACE}' "$@"\n`);
    await chmod(join(programs, 'millrace'), 0o700);
    // A link to the program of a virtual environment would not find it again.
    if (python) await writeFile(join(programs, 'python3'), `#!/bin/sh\nexec '${python}' "$@"\n`, { mode: 0o700 });
    const all = { ...process.env, ...env, PATH: `${programs}:${process.env.PATH}` };
    const { stdout } = await execute('bash', ['-euo', 'pipefail', '-c', code], { cwd: folder, env: all });
    return stdout;
  } finally {
    await rm(programs, { recursive: true });
  }
}
