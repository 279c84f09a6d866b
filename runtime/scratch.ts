import { readdir, rm, stat } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { area } from './embedded/data-folder.ts';

/** A command may run for a week (MILLRACE_TAPS), and writes nothing into its folder itself. */
const LONGEST_MS = 8 * 86_400_000;

/** Where commands have their folders while they run. */
export function scratch(dataDir: string): string {
  return area(dataDir, 'scratch');
}

/** Deletes what lies there from before the machine was started, or for longer than any command may run: a crash left it. */
export async function clearScratch(dataDir: string): Promise<void> {
  const folder = scratch(dataDir);
  const dead = Date.now() - Math.min(uptime() * 1_000, LONGEST_MS);
  for (const name of await readdir(folder)) {
    const { mtimeMs } = await stat(join(folder, name));
    if (mtimeMs < dead) await rm(join(folder, name), { recursive: true, force: true });
  }
}
