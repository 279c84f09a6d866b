import { homedir } from 'node:os';
import { join } from 'node:path';

/** Returns the cache that a user's clones share: `millrace` in XDG_CACHE_HOME or ~/.cache. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'millrace');
}
