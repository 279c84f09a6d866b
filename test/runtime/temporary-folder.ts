import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { openDataFolder } from '../../runtime/embedded/data-folder.ts';

/** A data folder of its own for each test; `path` holds during a test. */
export function useDataFolder(): { path: string } {
  const folder = { path: '' };
  beforeEach(async () => {
    folder.path = await mkdtemp(join(tmpdir(), 'millrace-runtime-'));
    await openDataFolder(folder.path);
  });
  afterEach(() => rm(folder.path, { recursive: true, force: true }));
  return folder;
}
