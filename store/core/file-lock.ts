import { DatabaseSync } from 'node:sqlite';

/** Held here, so that the garbage collector releases none. */
const held = new Set<DatabaseSync>();
const SQLITE_BUSY = 5;

/**
 * Locks a file, which it makes, and returns its release; null if another process has the lock. The lock is SQLite's, so
 * the kernel's: it ends with its process, also by SIGKILL, and holds between containers of a machine.
 */
export function takeFileLock(path: string): (() => void) | null {
  const lock = new DatabaseSync(path);
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
  held.add(lock);
  return () => {
    if (held.delete(lock)) lock.close();
  };
}
