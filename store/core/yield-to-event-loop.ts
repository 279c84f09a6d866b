/**
 * One at a time gets a turn of the event loop for work that would hold up others: what came from the database meanwhile
 * goes between. Where `most` wait already no other does: what they hold is bounded so.
 */
export function yieldToEventLoop(most: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = () => {
    waiting.shift()!();
    if (waiting.length > 0) setImmediate(next);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.length >= most) return resolve();
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(next);
    });
}

/**
 * How long work runs between two turns of the event loop. A request waits for several turns: with slices of 5 ms, a
 * funnel beside a busy neighbour took a fifth longer.
 */
const SLICE_MS = 2;
/** Every so many turns go to the work that has waited longest, so that short work cannot hold up long work for good. */
const LONGEST_WAITING_EVERY = 4;

/** A piece of long work that waits for its next slice, and how many it has had. */
type Waiting = { slices: number; resume: () => void };
const waiting: Waiting[] = [];
let turns = 0;

/** Work that had the fewest slices goes first, so short work does not wait behind all long work in each turn. */
function resumeNext(): void {
  turns += 1;
  const next =
    turns % LONGEST_WAITING_EVERY === 0
      ? waiting[0]!
      : waiting.reduce((least, each) => (each.slices < least.slices ? each : least));
  waiting.splice(waiting.indexOf(next), 1);
  next.resume();
  if (waiting.length > 0) setImmediate(resumeNext);
}

/**
 * The part of long work that runs before requests and other work get the event loop. Look between two small pieces
 * whether it is over. In each turn of the event loop, one piece of work that waits for its next slice continues.
 */
export class TimeSlice {
  #slices = 1;
  #end = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() > this.#end;
  }

  /** Gives way, and begins the next slice. */
  async next(): Promise<void> {
    await new Promise<void>((resume) => {
      waiting.push({ slices: this.#slices, resume });
      if (waiting.length === 1) setImmediate(resumeNext);
    });
    this.#slices += 1;
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
