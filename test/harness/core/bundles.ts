import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where bundles of workflows are kept from run to run, as long as what they are made of stays the same. */
export const BUNDLES = fileURLToPath(new URL('../../node_modules/.cache/workflows', import.meta.url));

/** Has a service over a new data folder find the bundle that others have made: making one takes 4 s of CPU. */
export async function shareBundles(dataDir: string): Promise<void> {
  await mkdir(BUNDLES, { recursive: true });
  await symlink(BUNDLES, join(dataDir, 'cache'));
}
