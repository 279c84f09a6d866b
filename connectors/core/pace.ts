/** How connectors pace their calls: pauses as asked for, calls per window, several in flight, a share of a quota. */
import { setTimeout as delay } from 'node:timers/promises';
import { PLANNED_WAIT, Refusal } from '../../domain/core/refusal.ts';
import { KeptValues } from './kept-values.ts';
import { sourceRefusal } from './source-refusal.ts';

/** Maximum wait here; longer waits belong to the run, which holds nothing meanwhile. */
const MAX_WAIT_MS = 2_000;
/** Maximum time for which a receiver may put off a request. */
const MAX_PUT_OFF_MS = 10_000;
const MIN_WAIT_MS = 250;
/** Each taken request shortens the pause before the next one by this factor. */
const SPEED_UP = 0.98;

/**
 * The pace of a receiver. It begins without pauses. A receiver that asks for one (429 or 503 with a short
 * `Retry-After`) gets it; from then on requests come as fast as it has taken them, and slowly faster.
 */
export class Pace {
  #pauseMs = 0;
  #nextAt = 0;
  #measuredSince = performance.now();
  #taken = 0;

  /** Sends a request when it is due, and again if the receiver puts it off. Throws the other errors of `send`. */
  async send<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let putOffMs = 0; ;) {
      await this.#turn(signal);
      try {
        const answer = await send();
        this.#taken += 1;
        this.#pauseMs *= SPEED_UP;
        return answer;
      } catch (error) {
        const waitMs = shortWait(error);
        if (waitMs === null || putOffMs + waitMs > MAX_PUT_OFF_MS) throw error;
        putOffMs += waitMs;
        this.#slowDown(waitMs);
      }
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.#nextAt - performance.now();
    if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    this.#nextAt = Math.max(performance.now(), this.#nextAt) + this.#pauseMs;
  }

  /** A receiver that asks for a pause takes at least one request in that time. */
  #slowDown(waitMs: number): void {
    const endsAt = performance.now() + waitMs;
    if (this.#taken > 0) this.#pauseMs = Math.min((endsAt - this.#measuredSince) / this.#taken, waitMs);
    [this.#measuredSince, this.#taken, this.#nextAt] = [endsAt, 0, endsAt];
  }
}

/** Returns how long a receiver asks to wait if that is short, else null. */
function shortWait(error: unknown): number | null {
  if (!(error instanceof Refusal) || error.status !== 'source_unavailable') return null;
  const { retry_after: seconds } = error.extra;
  return typeof seconds === 'number' && seconds * 1_000 <= MAX_WAIT_MS ? Math.max(seconds * 1_000, MIN_WAIT_MS) : null;
}

/** Maximum number of kept paces; each is kept for this long after its last request. */
const MAX_KEPT = 1_000;
const KEPT_MS = 10 * 60_000;

const paces = new KeptValues<Pace>(MAX_KEPT, KEPT_MS);

/** Returns the pace of the receiver at an address, which all requests of this process share. */
export function paceOf(address: string): Pace {
  return paces.of(address, () => new Pace());
}

/**
 * Lets at most `calls` calls begin in any window of `windowMs`, in the order in which they ask. One per account and
 * process. Calls may arrive closer together than they begin: take a window a little longer than the vendor's.
 */
export class CallWindow {
  #calls: number;
  #windowMs: number;
  /** When the last calls began, the oldest first: as many as the highest limit so far. */
  readonly #begun: number[] = [];
  readonly #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor({ calls, windowMs }: { calls: number; windowMs: number }) {
    this.#calls = calls;
    this.#windowMs = windowMs;
  }

  /** Sets another limit; calls that have begun count for it. */
  setLimit({ calls, windowMs }: { calls: number; windowMs: number }): void {
    this.#calls = calls;
    this.#windowMs = windowMs;
    this.#beginDue();
  }

  /** Resolves when a call may begin. Rejects with the signal's reason; the next in line then takes the turn. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const begin = () => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = () => {
      this.#waiting.splice(this.#waiting.indexOf(begin), 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(begin);
    this.#beginDue();
    await promise;
  }

  #beginDue(): void {
    while (this.#waiting.length > 0) {
      const now = performance.now();
      const waitMs = this.#begun.length < this.#calls ? 0 : this.#begun.at(-this.#calls)! + this.#windowMs - now;
      if (waitMs > 0) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#beginDue(), Math.ceil(waitMs));
        return;
      }
      this.#begun.push(now);
      if (this.#begun.length > this.#calls) this.#begun.shift();
      this.#waiting.shift()!();
    }
  }
}

/**
 * Works on items with at most `inFlight` at once, and yields the results in the items' order, those before an error
 * first. Begins no other item once one has thrown. Ends the rest by the signal that it hands to `work` when it reaches
 * the error or the reader stops.
 */
export async function* inOrder<T, R>(
  items: Iterable<T>,
  inFlight: number,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R> {
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const iterator = items[Symbol.iterator]();
  const begun: Promise<R>[] = [];
  let hasFailed = false;
  const beginMore = () => {
    while (begun.length < inFlight && !hasFailed) {
      const next = iterator.next();
      if (next.done) return;
      const result = work(next.value, either);
      result.catch(() => (hasFailed = true));
      begun.push(result);
    }
  };
  try {
    beginMore();
    while (begun.length > 0) {
      const result = await begun.shift()!;
      beginMore(); // before the reader works on the result
      yield result;
    }
  } finally {
    ending.abort();
    iterator.return?.();
    await Promise.allSettled(begun);
  }
}

/** How long a run waits for a quota whose end has passed, as clocks that differ make it: each try costs a call. */
const PAST_END_MS = 60_000;

/** Returns the refusal by which a run waits for its source's quota, which is no failure. */
export function quotaWait(message: string, untilMs: number): Refusal {
  const leftMs = untilMs - Date.now();
  const seconds = Math.ceil((leftMs > 0 ? leftMs : PAST_END_MS) / 1_000);
  return sourceRefusal('source_unavailable', message, { retry_after: seconds, [PLANNED_WAIT]: true });
}

/** A quota of calls as the vendor's answers report it. */
export type Quota = { used: number; limit: number; resetsAtMs: number };

/** Throws `quotaWait` once `used` exceeds `sharePercent` of `limit`. */
export function keepToShare(host: string, { used, limit, resetsAtMs }: Quota, sharePercent: number): void {
  if (used * 100 <= limit * sharePercent) return;
  const until = new Date(resetsAtMs).toISOString();
  throw quotaWait(
    `${host} has counted ${used} of the ${limit} calls of its quota, ` +
      `and syncs may use ${sharePercent} % of them: waiting for new ones, next try at ${until}`,
    resetsAtMs,
  );
}
