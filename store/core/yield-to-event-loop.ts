/**
 * Lets one caller at a time have a turn of the event loop for long work. If `most` callers wait already, the next one
 * continues at once, which bounds the memory of those that wait.
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

/** Time of work between two turns of the event loop: with 5 ms a funnel beside a busy neighbour took a fifth longer. */
const SLICE_MS = 2;
/** Number of turns after which the longest waiting work goes first, so that short work cannot delay it forever. */
const LONGEST_WAITING_EVERY = 4;

type Waiting = { slices: number; resume: () => void };
const waiting: Waiting[] = [];
let turns = 0;

/** Resumes the work with the fewest slices, so that short work does not wait for all long work. */
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
 * The part of long work that runs before requests get the event loop. Look between two small pieces whether it is over.
 * In each turn of the event loop, one piece of work that waits for its next slice continues.
 */
export class TimeSlice {
  #slices = 1;
  #end = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() > this.#end;
  }

  async next(): Promise<void> {
    await new Promise<void>((resume) => {
      waiting.push({ slices: this.#slices, resume });
      if (waiting.length === 1) setImmediate(resumeNext);
    });
    this.#slices += 1;
    this.#end = performance.now() + SLICE_MS;
  }
}

export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const slice = new TimeSlice();
  for (const item of items) {
    work(item);
    if (slice.isOver) await slice.next();
  }
}
