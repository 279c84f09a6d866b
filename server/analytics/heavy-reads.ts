import { openPlaces } from '../../domain/core/limits.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import type { Semaphore } from '../../domain/core/semaphore.ts';
import { FUNNEL_TIMEOUT_MS } from '../../store/analytics/funnel-stats.ts';
import { isQueryCanceled } from '../../store/core/database.ts';

/** Maximum number of reads of one entity at once. */
const AT_ONCE_EACH = 1;
/** Maximum number of reads that wait, of one entity and of all together. */
export const MAX_WAITING = 20;
export const MAX_WAITING_IN_ALL = 100;
const RETRY_SECONDS = 10;
const RESTART_SECONDS = 1;
const TRANSACTION_TIMEOUT = '25P04';
/** The database stops each of them after this time. */
export const HEAVY_READ_MS = FUNNEL_TIMEOUT_MS;

type Waiting = { entityId: number; giveWay: AbortController };

/**
 * Bounds the reads that may look at all events of a period. They are shared out by entity: one place is free for another entity however
 * many reads an entity asks for. A caller who hangs up leaves the line, and Postgres stops computing for them.
 */
export class HeavyReads {
  readonly #take: Semaphore = openPlaces('heavyReads', AT_ONCE_EACH);
  readonly #closing = new AbortController();
  /** In the order of their coming. */
  #waiting: Waiting[] = [];

  /**
   * Refuses with 429 where too many wait, and with 503 where it took too long or the server ends. `read` ends its statements as soon as
   * its signal aborts.
   */
  async within<T>(entityId: number, hungUp: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const waiting = { entityId, giveWay: new AbortController() };
    const signal = AbortSignal.any([hungUp, waiting.giveWay.signal, this.#closing.signal]);
    try {
      const release = await this.#wait(waiting, signal);
      try {
        return await read(signal);
      } finally {
        release();
      }
    } catch (error) {
      if (signal.aborted) throw endedBy(signal);
      if (!isQueryCanceled(error) && (error as { code?: string }).code !== TRANSACTION_TIMEOUT) throw error;
      return refuse(503, 'too_long', `This took longer than ${HEAVY_READ_MS / 1_000} seconds: ask for a shorter period`);
    }
  }

  /** Ends those that run and those that wait. */
  close(): void {
    const message = 'This server is ending. Please try again';
    this.#closing.abort(new Refusal(503, 'service_unavailable', message, { retry_after: RESTART_SECONDS }));
  }

  async #wait(waiting: Waiting, signal: AbortSignal): Promise<() => void> {
    this.#makePlace(waiting.entityId);
    this.#waiting.push(waiting);
    try {
      return await this.#take(waiting.entityId, undefined, signal);
    } finally {
      this.#leave(waiting);
    }
  }

  #leave(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
  }

  /** If all places in line are taken, the newest one of the entity that holds most gives way to an entity that holds fewer. */
  #makePlace(entityId: number): void {
    const own = this.#waitingOf(entityId).length;
    if (own >= MAX_WAITING) throw tooManyWait(MAX_WAITING);
    if (this.#waiting.length < MAX_WAITING_IN_ALL) return;
    const most = [...new Set(this.#waiting.map((one) => one.entityId))].map((id) => this.#waitingOf(id))
      .reduce((one, other) => (other.length > one.length ? other : one));
    if (most.length <= own + 1) throw tooManyWait(this.#waiting.length);
    const newest = most.at(-1)!;
    newest.giveWay.abort(tooManyWait(this.#waiting.length));
    this.#leave(newest);
  }

  #waitingOf(entityId: number): Waiting[] {
    return this.#waiting.filter((one) => one.entityId === entityId);
  }
}

function tooManyWait(number: number): Refusal {
  return new Refusal(429, 'too_many_requests', `${number} funnels and previews wait already: try again in ${RETRY_SECONDS} seconds`,
    { retry_after: RETRY_SECONDS });
}

/** The status of a caller who hung up is read in logs and metrics alone. */
function endedBy({ reason }: AbortSignal): Refusal {
  return reason instanceof Refusal ? reason : new Refusal(499, 'hung_up', 'The caller hung up');
}
