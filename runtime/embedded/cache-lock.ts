/** A lock across processes: a file beside what it protects, which names its owner and grows old without one. */
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const LOOK_EVERY_MS = 100;
const TOUCH_EVERY_MS = 2_000;
/** An owner that has not touched its file for this time is gone, on whatever machine it was. */
const GONE_AFTER_MS = 30_000;

/** Does the work while no other process holds the lock. The lock of a killed process is taken over. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const mine = `${hostname()} ${process.pid}`;
  while (!(await isTaken(path, mine))) {
    // Two that see a dead owner at once may both go on: both make the same program, and the later rename wins.
    if (await isAbandoned(path)) await rm(path, { force: true });
    else await delay(LOOK_EVERY_MS);
  }
  const touching = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => {}), TOUCH_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    await rm(path, { force: true });
  }
}

async function isTaken(path: string, owner: string): Promise<boolean> {
  try {
    await writeFile(path, owner, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const [owner, file] = await Promise.all([readFile(path, 'utf8').catch(() => ''), stat(path).catch(() => null)]);
  if (file === null) return false; // released meanwhile
  if (Date.now() - file.mtimeMs > GONE_AFTER_MS) return true;
  const [host, pid] = owner.split(' ');
  return host === hostname() && pid !== undefined && !isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
