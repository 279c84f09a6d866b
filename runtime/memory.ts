import { Session } from 'node:inspector/promises';
import { setTimeout as delay } from 'node:timers/promises';

const MIB = 1024 ** 2;
/**
 * Memory of one of our processes beside V8's heap and buffers: the program itself, memory of native code, other
 * threads.
 */
const USUAL_BYTES = 200 * MIB;
/** So much more is worth the pause in which it is given back, some 0.2 s. */
const WORTH_BYTES = 64 * MIB;
const LOOK_EVERY_MS = 15_000;

/** Defaults are USUAL_BYTES and LOOK_EVERY_MS. For tests. */
export type ReleaseOptions = { usualBytes?: number; lookEveryMs?: number };

/**
 * Gives memory back to the system that V8 holds and does not use, until `signal`. V8 pools the pages that a collection
 * has emptied. It releases them when the process has been idle for a while, but then not again before its heap outgrows
 * what it was: without this a process keeps what one sync or import took at its peak.
 */
export async function releaseUnusedMemory(
  signal: AbortSignal,
  { usualBytes = USUAL_BYTES, lookEveryMs = LOOK_EVERY_MS }: ReleaseOptions = {},
): Promise<void> {
  let usual = usualBytes;
  while (!signal.aborted) {
    if (besideHeap() > usual + WORTH_BYTES) {
      await releasePooledPages();
      usual = Math.max(usualBytes, besideHeap()); // what stays is no pool: it is not looked for again
    }
    await delay(lookEveryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

/** Bytes of the process that are neither V8's heap nor buffers. */
export function besideHeap(): number {
  const { rss, heapTotal, external } = process.memoryUsage();
  return rss - heapTotal - external;
}

/** By a full collection for the sake of memory, the only one that empties the pool at once. */
async function releasePooledPages(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
