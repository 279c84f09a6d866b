/** Runs the work of lanes in order within each lane, and bounds how many batches are under way. */

/** Maximum number of batches under way: one is merged while the next waits for its lanes. */
const BATCHES_AHEAD = 2;

/** The work of a job in lanes: each in order until some of it fails, none waiting for another. */
export class LaneQueue {
  /** The end of what each lane has to do. */
  readonly #tails: Promise<void>[];
  readonly #batches: Promise<unknown>[] = [];

  constructor(lanes: number) {
    this.#tails = Array.from({ length: lanes }, () => Promise.resolve());
  }

  /** Adds work of the current batch to a lane. A failure is also thrown to the callers that wait for its end. */
  add(lane: number, work: () => Promise<void>, onFailure: () => void = () => {}): void {
    const end = this.#tails[lane]!.then(work);
    end.catch(onFailure);
    this.#tails[lane] = end;
  }

  /** Begins the next batch; `end` is that of the work that was added before. */
  nextBatch(): { end: Promise<unknown> } {
    const end = Promise.all(this.#tails);
    end.catch(() => {});
    this.#batches.push(end);
    return { end };
  }

  /** Waits until one more batch may be under way. */
  async free(): Promise<void> {
    while (this.#batches.length >= BATCHES_AHEAD) await this.#batches.shift();
  }

  /** Waits for all work, whether it fails or not. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#tails);
  }

  /** Waits for all work, and throws what failed. */
  async done(): Promise<void> {
    await this.ended();
    await Promise.all(this.#tails);
    this.#batches.length = 0;
  }
}
