import { lstatSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { makeFolderSync } from '../store/core/make-folder.ts';
import { cacheFolder } from './cache-folder.ts';

/** Loads modules in half the time. Code in the folder is executed: it must be this user's, closed to other writers. */
const folder = ownFolder();
if (folder !== null) enableCompileCache(folder);

function ownFolder(): string | null {
  try {
    const path = join(cacheFolder(), 'compiled');
    if (!isAbsolute(path)) return null;
    makeFolderSync(path, { mode: 0o700 });
    const { uid, mode } = lstatSync(path);
    const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    return isOwn ? path : null;
  } catch {
    return null;
  }
}
