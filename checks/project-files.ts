import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const LEFT_OUT = new Set(['node_modules', '.git', '.millrace', '.cache', join('checks', 'fixtures')]);

/** The files of the tree under `root`, as paths relative to it, without what is fetched, built or broken on purpose. */
export async function projectFiles(root: string, folder = ''): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const files = await Promise.all(entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (LEFT_OUT.has(path) || LEFT_OUT.has(entry.name)) return [];
    return entry.isDirectory() ? projectFiles(root, path) : [path];
  }));
  return files.flat().sort();
}
