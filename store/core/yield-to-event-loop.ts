/**
 * One at a time gets a turn of the event loop for work that would hold up others: what came from the database meanwhile goes between.
 * Where `most` wait already no other does: what they hold is bounded so.
 */
export function yieldToEventLoop(most: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = () => {
    waiting.shift()!();
    if (waiting.length > 0) setImmediate(next);
  };
  return () => new Promise((resolve) => {
    if (waiting.length >= most) return resolve();
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(next);
  });
}

/** Work that needs no longer than this between two turns holds up no request that a person would notice. */
const SLICE_MS = 5;
const nextTurn = yieldToEventLoop(Infinity);

/**
 * The part of long work that runs before requests and other work get the event loop. Look between two small pieces whether it is over.
 * In each turn of the event loop, one piece of work that waits for its next slice goes on.
 */
export class TimeSlice {
  #end = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() > this.#end;
  }

  /** Gives way, and begins the next slice. */
  async next(): Promise<void> {
    await nextTurn();
    this.#end = performance.now() + SLICE_MS;
  }
}

/** Calls `work` with each item, in slices. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const slice = new TimeSlice();
  for (const item of items) {
    work(item);
    if (slice.isOver) await slice.next();
  }
}
