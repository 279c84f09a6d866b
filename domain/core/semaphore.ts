/** Shares limited places and budgets out fairly between entities. */

/**
 * Takes a place; the result frees it. Throws an aborted signal's reason, or `TooManyWait` if the line is full. An
 * entity's places are also shared out between its members.
 */
export type Semaphore = (
  entityId: number,
  onWait?: () => Promise<void>,
  signal?: AbortSignal,
  member?: number,
) => Promise<() => void>;

/** Maximum places of one entity, also while it is alone; of waiting callers of a member, of an entity, and together. */
export type Bounds = { maxEach?: number; maxWaitingOfMember?: number; maxWaitingEach?: number; maxWaiting?: number };

export class TooManyWait extends Error {
  readonly waiting: number;

  constructor(waiting: number) {
    super(`${waiting} wait already`);
    this.waiting = waiting;
  }
}

type Waiting = { entityId: number; member?: number | undefined; begin(): void; refuse(error: TooManyWait): void };

/**
 * Returns a semaphore. While n entities have or want places, none has more than ⌈atOnce / n⌉; the next goes to the
 * entity that has waited longest since one of its own began or ended, there to the member who has waited longest
 * since one of theirs began. In a full line, the newest caller of the entity, or member, that holds most gives way to
 * one that holds fewer.
 */
export function semaphore(atOnce: number, bounds: Bounds = {}): Semaphore {
  const turns = new Turns(atOnce, bounds);
  return async (entityId, onWait, signal, member) => {
    signal?.throwIfAborted();
    if (!turns.tryBegin(entityId, member)) await waitInLine(turns, { entityId, member }, onWait, signal);
    let isOver = false;
    return () => {
      if (!isOver) turns.end(entityId);
      isOver = true;
    };
  };
}

/**
 * An entity's places, the moment when the last of them began or ended, or when it began to wait, and when each member's
 * last place began.
 */
type Share = { held: number; since: number; begun: Map<number | undefined, number> };

class Turns {
  readonly #atOnce: number;
  readonly #bounds: Required<Bounds>;
  #free: number;
  /** Counts events: the later of two moments has the larger number. */
  #now = 0;
  #waiting: Waiting[] = [];
  readonly #shares = new Map<number, Share>();

  constructor(atOnce: number, bounds: Bounds) {
    this.#atOnce = atOnce;
    this.#bounds = {
      maxEach: atOnce,
      maxWaitingOfMember: Infinity,
      maxWaitingEach: Infinity,
      maxWaiting: Infinity,
      ...bounds,
    };
    this.#free = atOnce;
  }

  tryBegin(entityId: number, member?: number): boolean {
    this.#share(entityId);
    if (!this.#isWaiting(entityId) && this.#mayBegin(entityId)) {
      this.#begin({ entityId, member });
      return true;
    }
    return false;
  }

  wait(waiting: Waiting): void {
    try {
      this.#makePlace(waiting);
    } catch (error) {
      this.#forget(waiting.entityId);
      throw error;
    }
    this.#waiting.push(waiting);
  }

  /** Removes a caller from the line if it is still there. With fewer entities in line the share of the others grows. */
  leave(waiting: Waiting): boolean {
    if (!this.#waiting.includes(waiting)) return false;
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
    this.#forget(waiting.entityId);
    this.#beginNext();
    return true;
  }

  #makePlace({ entityId, member }: Waiting): void {
    const own = this.#waitingOf(entityId);
    const ofMember = own.filter((one) => one.member === member);
    if (ofMember.length >= this.#bounds.maxWaitingOfMember) throw new TooManyWait(ofMember.length);
    if (own.length >= this.#bounds.maxWaitingEach) {
      const members = [...new Set(own.map((one) => one.member))];
      this.#giveWay(
        ofMember,
        own.length,
        members.map((each) => own.filter((one) => one.member === each)),
      );
    } else if (this.#waiting.length >= this.#bounds.maxWaiting) {
      this.#giveWay(
        own,
        this.#waiting.length,
        [...this.#shares.keys()].map((id) => this.#waitingOf(id)),
      );
    }
  }

  /** Refuses the newest of the largest group, or throws if it is hardly larger than the one's own. */
  #giveWay(own: readonly Waiting[], all: number, groups: readonly Waiting[][]): void {
    const most = groups.reduce((one, other) => (other.length > one.length ? other : one), [] as readonly Waiting[]);
    if (most.length <= own.length + 1) throw new TooManyWait(all);
    const newest = most.at(-1)!;
    this.#waiting = this.#waiting.filter((one) => one !== newest);
    newest.refuse(new TooManyWait(all));
  }

  end(entityId: number): void {
    this.#free += 1;
    const share = this.#share(entityId);
    share.held -= 1;
    share.since = this.#now += 1;
    this.#forget(entityId);
    this.#beginNext();
  }

  #beginNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#begin(next);
      next.begin();
    }
  }

  #next(): Waiting | undefined {
    const longest = [...this.#shares]
      .filter(([entityId]) => this.#isWaiting(entityId) && this.#mayBegin(entityId))
      .toSorted(([, one], [, other]) => one.since - other.since)[0];
    if (!longest) return undefined;
    const [entityId, { begun }] = longest;
    const begunOf = ({ member }: Waiting) => begun.get(member) ?? 0;
    return this.#waitingOf(entityId).reduce((one, other) => (begunOf(other) < begunOf(one) ? other : one));
  }

  #mayBegin(entityId: number): boolean {
    return (
      this.#free > 0 &&
      this.#share(entityId).held < Math.min(this.#bounds.maxEach, Math.ceil(this.#atOnce / this.#shares.size))
    );
  }

  #begin({ entityId, member }: Pick<Waiting, 'entityId' | 'member'>): void {
    this.#free -= 1;
    const share = this.#share(entityId);
    share.held += 1;
    share.since = this.#now += 1;
    share.begun.set(member, share.since);
  }

  #isWaiting(entityId: number): boolean {
    return this.#waiting.some((one) => one.entityId === entityId);
  }

  #waitingOf(entityId: number): Waiting[] {
    return this.#waiting.filter((one) => one.entityId === entityId);
  }

  #share(entityId: number): Share {
    const share = this.#shares.get(entityId) ?? { held: 0, since: (this.#now += 1), begun: new Map() };
    this.#shares.set(entityId, share);
    return share;
  }

  #forget(entityId: number): void {
    if (this.#share(entityId).held === 0 && !this.#isWaiting(entityId)) this.#shares.delete(entityId);
  }
}

/** Waits for a place; leaves the line, or frees the place, if `onWait` fails or the signal aborts. */
async function waitInLine(
  turns: Turns,
  { entityId, member }: Pick<Waiting, 'entityId' | 'member'>,
  onWait?: () => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const { promise: turn, resolve, reject } = Promise.withResolvers<void>();
  let hasBegun = false;
  const begin = () => {
    hasBegun = true;
    resolve();
  };
  const waiting = { entityId, member, begin, refuse: reject };
  const onAbort = () => {
    if (turns.leave(waiting)) reject(signal!.reason as Error);
  };
  turns.wait(waiting);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.all([
      turn,
      onWait?.().catch((error: unknown) => {
        if (!turns.leave(waiting) && hasBegun) turns.end(entityId);
        throw error;
      }),
    ]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** A budget without waiting: an entity may hold as much as stays free. An idle one always gets its first request. */
export class SharedBudget {
  readonly #most: number;
  readonly #held = new Map<number, number>();
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  left(entityId: number): number {
    return Math.max(0, Math.floor((this.#most - this.#total - this.#heldBy(entityId)) / 2));
  }

  take(entityId: number, amount: number): boolean {
    const held = this.#heldBy(entityId);
    if (held > 0 && amount > this.left(entityId)) return false;
    this.#held.set(entityId, held + amount);
    this.#total += amount;
    return true;
  }

  giveBack(entityId: number, amount: number): void {
    const held = this.#heldBy(entityId) - amount;
    if (held > 0) this.#held.set(entityId, held);
    else this.#held.delete(entityId);
    this.#total -= amount;
  }

  #heldBy(entityId: number): number {
    return this.#held.get(entityId) ?? 0;
  }
}
