/**
 * Takes a turn for an entity; what it gives back ends it. If no turn is free for it, it calls `onWait`, and waits for that, too.
 */
export type Semaphore = (entityId: number, onWait?: () => Promise<void>) => Promise<() => void>;

type Waiting = { entityId: number; begin(): void };

/**
 * At most `atOnce` turns at a time, shared out by entity: while n of them have turns or wait for one, none has more than ⌈atOnce / n⌉.
 * The next free turn goes to the entity that has waited longest since a turn of its own began or ended; of its own, first come, first
 * served.
 */
export function semaphore(atOnce: number): Semaphore {
  const turns = new Turns(atOnce);
  return async (entityId, onWait) => {
    if (!turns.tryBegin(entityId)) await waitInLine(turns, entityId, onWait);
    let isOver = false;
    return () => {
      if (!isOver) turns.end(entityId);
      isOver = true;
    };
  };
}

/** The turns of an entity, and the moment when the last of them began or ended, or when it began to wait. */
type Share = { held: number; since: number };

class Turns {
  readonly #atOnce: number;
  #free: number;
  /** Counts what happens: of two moments the later one has the larger number. */
  #now = 0;
  /** In the order of their coming. */
  #waiting: Waiting[] = [];
  readonly #shares = new Map<number, Share>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
    this.#free = atOnce;
  }

  tryBegin(entityId: number): boolean {
    this.#share(entityId);
    if (!this.#isWaiting(entityId) && this.#mayBegin(entityId)) {
      this.#begin(entityId);
      return true;
    }
    return false;
  }

  wait(entityId: number): Promise<void> {
    return new Promise((resolve) => { this.#waiting.push({ entityId, begin: resolve }); });
  }

  end(entityId: number): void {
    this.#free += 1;
    const share = this.#share(entityId);
    share.held -= 1;
    share.since = this.#now += 1;
    this.#forget(entityId);
    for (let next = this.#next(); next; next = this.#next()) {
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#begin(next.entityId);
      next.begin();
    }
  }

  #next(): Waiting | undefined {
    const longest = [...this.#shares].filter(([entityId]) => this.#isWaiting(entityId) && this.#mayBegin(entityId))
      .toSorted(([, one], [, other]) => one.since - other.since)[0];
    return longest && this.#waiting.find(({ entityId }) => entityId === longest[0]);
  }

  #mayBegin(entityId: number): boolean {
    return this.#free > 0 && this.#share(entityId).held < Math.ceil(this.#atOnce / this.#shares.size);
  }

  #begin(entityId: number): void {
    this.#free -= 1;
    const share = this.#share(entityId);
    share.held += 1;
    share.since = this.#now += 1;
  }

  #isWaiting(entityId: number): boolean {
    return this.#waiting.some((one) => one.entityId === entityId);
  }

  #share(entityId: number): Share {
    const share = this.#shares.get(entityId) ?? { held: 0, since: this.#now += 1 };
    this.#shares.set(entityId, share);
    return share;
  }

  #forget(entityId: number): void {
    if (this.#share(entityId).held === 0 && !this.#isWaiting(entityId)) this.#shares.delete(entityId);
  }
}

/** A turn that is not used, since `onWait` failed, ends as soon as it begins. */
async function waitInLine(turns: Turns, entityId: number, onWait?: () => Promise<void>): Promise<void> {
  const turn = turns.wait(entityId);
  try {
    await onWait?.();
  } catch (error) {
    void turn.then(() => turns.end(entityId));
    throw error;
  }
  await turn;
}
