import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { openDataFolder } from '../../runtime/embedded/data-folder.ts';

/** A data folder of its own for each test, or one for all that stand beside this call; `path` holds during a test. */
export function useDataFolder(folder = { path: '' }, { isShared = false } = {}): { path: string } {
  const [before, after] = isShared ? ([beforeAll, afterAll] as const) : ([beforeEach, afterEach] as const);
  before(async () => {
    folder.path = await mkdtemp(join(tmpdir(), 'millrace-runtime-'));
    await openDataFolder(folder.path);
  });
  after(() => rm(folder.path, { recursive: true, force: true }));
  return folder;
}
