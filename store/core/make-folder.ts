// Makes folders one by one: Node's recursive mkdir never ends in /proc, which takes no folder.
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

type Mode = { mode?: number };

/** Makes a folder and its parents, unless they exist. Throws the first error. */
export async function makeFolder(path: string, { mode = 0o777 }: Mode = {}): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (
      await stat(path).then(
        (found) => found.isDirectory(),
        () => false,
      )
    )
      return;
    if (!isOfParent(error, path)) throw error;
    await makeFolder(dirname(path), { mode });
    await mkdir(path, { mode }).catch(ignoreExisting);
  }
}

export function makeFolderSync(path: string, { mode = 0o777 }: Mode = {}): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
    if (!isOfParent(error, path)) throw error;
    makeFolderSync(dirname(path), { mode });
    try {
      mkdirSync(path, { mode });
    } catch (again) {
      ignoreExisting(again);
    }
  }
}

function isOfParent(error: unknown, path: string): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path;
}

function ignoreExisting(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}
