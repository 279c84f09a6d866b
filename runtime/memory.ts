/** Gives unused memory back to the system. */
import { Session } from 'node:inspector/promises';
import { setTimeout as delay } from 'node:timers/promises';

const MIB = 1024 ** 2;
/** Memory of a process beside V8's heap and buffers: the program, native code, other threads. */
const USUAL_BYTES = 200 * MIB;
/** Amount that is worth the pause of about 0.2 s in which it is released. */
const WORTH_BYTES = 64 * MIB;
const LOOK_EVERY_MS = 15_000;

export type ReleaseOptions = { usualBytes?: number; lookEveryMs?: number };

/**
 * Releases memory that V8 holds and does not use, until `signal`. V8 pools the pages that a collection has emptied. It
 * releases them once the process is idle, but then not again before its heap outgrows its former size, so a process
 * would keep what one sync or import took at its peak.
 */
export async function releaseUnusedMemory(
  signal: AbortSignal,
  { usualBytes = USUAL_BYTES, lookEveryMs = LOOK_EVERY_MS }: ReleaseOptions = {},
): Promise<void> {
  let usual = usualBytes;
  while (!signal.aborted) {
    if (besideHeap() > usual + WORTH_BYTES) {
      await releasePooledPages();
      usual = Math.max(usualBytes, besideHeap()); // the rest is no pool, and is not measured again
    }
    await delay(lookEveryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

export function besideHeap(): number {
  const { rss, heapTotal, external } = process.memoryUsage();
  return rss - heapTotal - external;
}

/** Empties the pool at once, by the only collection that does. */
async function releasePooledPages(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
