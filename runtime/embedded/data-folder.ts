/** The data folder: makes it, and locks it for one process. */
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { takeFileLock } from '../../store/core/file-lock.ts';
import { makeFolder, makeFolderSync } from '../../store/core/make-folder.ts';
import { CannotStart } from '../cannot-start.ts';

const isRoot = process.getuid?.() === 0;

/** Makes the data folder. Under root other users may pass through: Postgres runs as another user, in its own area. */
export async function openDataFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  await chmod(folder, isRoot ? 0o711 : 0o700);
}

/** Returns a folder in the data folder, for this user alone. */
export function area(dataDir: string, name: string): string {
  const folder = join(dataDir, name);
  makeFolderSync(folder, { mode: 0o700 });
  return folder;
}

export class DataFolderInUse extends CannotStart {
  override readonly name = 'DataFolderInUse';
}

/** Locks the data folder for this process, and returns how to unlock it. */
export function lockDataFolder(folder: string): () => void {
  const ownerPath = join(folder, 'lock.pid');
  const release = takeFileLock(join(folder, 'lock.db'));
  if (!release) {
    const owner = readOwner(ownerPath);
    throw new DataFolderInUse(
      `The data folder ${folder} is in use by ${owner}: stop it first, or set MILLRACE_DATA_DIR to another folder.`,
    );
  }
  writeFileSync(ownerPath, String(process.pid), { mode: 0o600 });
  return release;
}

function readOwner(path: string): string {
  try {
    return `process ${readFileSync(path, 'utf8')}`;
  } catch {
    return 'another process';
  }
}
