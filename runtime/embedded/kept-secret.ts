import { existsSync } from 'node:fs';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Returns the secret in the file `path` (mode 0600), which the first call makes. It is on disk before it is used, so
 * that a crash cannot lose the key of what was written with it.
 */
export async function keptSecret(path: string, draw: () => string): Promise<string> {
  if (!existsSync(path)) {
    const draft = `${path}.draft`;
    await writeFile(draft, draw(), { mode: 0o600, flush: true });
    await rename(draft, path);
    await flushFolder(dirname(path));
  }
  return readFile(path, 'utf8');
}

export async function flushFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
