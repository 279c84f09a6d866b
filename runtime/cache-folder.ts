import { homedir } from 'node:os';
import { join } from 'node:path';

/** Returns the cache folder that one user's clones share: `millrace` in XDG_CACHE_HOME or ~/.cache. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'millrace');
}
