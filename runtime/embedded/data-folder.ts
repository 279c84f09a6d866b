import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

export const isRoot = process.getuid?.() === 0;

/** Started as root, others may pass through the folder: Postgres runs as another user and has its own area in it. */
export async function openDataFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, isRoot ? 0o711 : 0o700);
}

/** A folder in the data folder, for this user alone. */
export async function area(dataDir: string, name: string): Promise<string> {
  const folder = join(dataDir, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Another process that lives runs on this data folder. */
export class DataFolderInUse extends Error {
  override readonly name = 'DataFolderInUse';
}

/**
 * Takes the data folder for this process, and returns how to give it back. A lock that SIGKILL left
 * behind is taken over.
 */
export function lockDataFolder(folder: string): () => void {
  const lock = join(folder, 'lock');
  const mine = identify(process.pid)!;
  const draft = join(folder, `lock.${process.pid}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(draft, JSON.stringify(mine));
  try {
    while (!linkIfFree(draft, lock)) takeAway(lock, folder);
  } finally {
    rmSync(draft, { force: true });
  }
  return () => {
    if (readOwner(lock)?.startedAt === mine.startedAt) rmSync(lock, { force: true });
  };
}

/** A link appears with its content or not at all, and for one of two that race. */
function linkIfFree(draft: string, lock: string): boolean {
  try {
    linkSync(draft, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves a dead owner's lock aside; one that another process took in between is put back. */
function takeAway(lock: string, folder: string): void {
  refuseLiving(readOwner(lock), folder);
  const aside = `${lock}.stale.${process.pid}`;
  try {
    renameSync(lock, aside);
  } catch {
    return;                       // another process was first; look again
  }
  const owner = readOwner(aside);
  if (owner && isAlive(owner)) linkIfFree(aside, lock);
  rmSync(aside, { force: true });
}

function refuseLiving(owner: ProcessIdentity | null, folder: string): void {
  if (!owner || !isAlive(owner)) return;
  throw new DataFolderInUse(
    `The data folder ${folder} is in use by process ${owner.pid}: stop it first, or set MILLRACE_DATA_DIR to another folder.`);
}

function readOwner(lock: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')) as ProcessIdentity;
  } catch {
    return null;
  }
}
