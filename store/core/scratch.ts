/** The scratch area: folders for files that a step needs only while it runs. */
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { takeFileLock } from './file-lock.ts';
import { makeFolder, makeFolderSync } from './make-folder.ts';

/** Scratch area of a data folder: `<process>/<entity>/<step>-<random>`. A process locks its folder while it lives. */
export type Scratch = {
  folderOf(entityId: number): string;
  /** Runs `work` in a new folder, and removes it. All writes must end before `work` does. */
  withFolder<T>(entityId: number, step: string, work: (folder: string) => Promise<T>): Promise<T>;
  list(entityId: number): AsyncIterable<StepFolder>;
  removeGone(): Promise<void>;
  close(): Promise<void>;
};

export type StepFolder = { path: string; step: string; begunAt: Date; isOfLivingProcess: boolean };

const LOCK = 'lock.db';
const REMOVED = '.removed-';
/** Number of tries, 10 ms apart, to lock its folder, while others check whether it is dead. */
const MAX_TRIES = 100;
/** Retries, because a step's remaining work may still write for a moment. */
const REMOVING = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 };

type ScratchOptions = {
  process: string;
  /** Called if a folder cannot be removed, which never fails a step. */
  onError(error: unknown): void;
};

export async function openScratch(area: string, { process, onError }: ScratchOptions): Promise<Scratch> {
  const root = resolve(area);
  const own = join(root, process);
  const remove = (path: string) => rm(path, REMOVING).catch(onError);
  const removeGone = async () => {
    for (const name of await namesIn(root)) if (name !== process) await removeIfGone(root, name, remove);
  };
  await makeFolder(root, { mode: 0o700 });
  await removeGone();
  const release = await lockOwn(own);
  const folderOf = (entityId: number) => {
    const folder = join(own, String(entityId));
    makeFolderSync(folder, { mode: 0o700 });
    return folder;
  };
  return {
    folderOf,
    async withFolder(entityId, step, work) {
      const folder = await mkdtemp(join(folderOf(entityId), `${step}-`));
      try {
        return await work(folder);
      } finally {
        await remove(folder);
      }
    },
    async *list(entityId) {
      for (const name of await namesIn(root)) {
        const folder = join(root, name, String(entityId));
        const steps = await namesIn(folder);
        if (steps.length === 0) continue;
        const isOfLivingProcess = name === process || isLocked(join(root, name));
        for (const step of steps) {
          const path = join(folder, step);
          const found = await stat(path).catch(nullIfMissing);
          if (found) yield { path, step: step.replace(/-[^-]*$/, ''), begunAt: found.birthtime, isOfLivingProcess };
        }
      }
    },
    removeGone,
    async close() {
      await remove(own);
      release();
    },
  };
}

/** Locks the new folder; retries, since another process may take it for a dead one's and remove it. */
async function lockOwn(folder: string): Promise<() => void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    await makeFolder(folder, { mode: 0o700 });
    const release = tryLock(folder);
    if (release) return release;
    await delay(10);
  }
  throw new Error('another process holds the scratch folder of this one');
}

/** Returns null if another process has the lock, or the folder is deleted. */
function tryLock(folder: string): (() => void) | null {
  try {
    return takeFileLock(join(folder, LOCK));
  } catch (error) {
    if (isCannotOpen(error)) return null;
    throw error;
  }
}

const SQLITE_CANTOPEN = 14;
const isCannotOpen = (error: unknown) => (error as { errcode?: number }).errcode === SQLITE_CANTOPEN;

function isLocked(folder: string): boolean {
  const release = tryLock(folder);
  release?.();
  return release === null;
}

/** Removes a dead process's folder, renamed first under its lock, so that a starting process makes another. */
async function removeIfGone(root: string, name: string, remove: (path: string) => Promise<void>): Promise<void> {
  const folder = join(root, name);
  const release = tryLock(folder);
  if (!release) {
    if (!(await stat(folder).catch(nullIfMissing))?.isDirectory()) await remove(folder);
    return;
  }
  try {
    const removed = name.startsWith(REMOVED) ? folder : join(root, `${REMOVED}${name}`);
    if (removed !== folder) await rename(folder, removed).catch(() => remove(folder));
    await remove(removed);
  } finally {
    release();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
