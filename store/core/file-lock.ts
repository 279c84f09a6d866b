import { DatabaseSync } from 'node:sqlite';

/** Kept here, so that the garbage collector gives none of them back. */
const held = new Set<DatabaseSync>();
const SQLITE_BUSY = 5;

/**
 * Locks a file, which it makes, and returns how to release it; null: another has the lock. The lock is SQLite's, and so
 * the kernel's: one of any number that race gets it, and it ends with its process, SIGKILL included. Containers on one
 * machine see each other's.
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
