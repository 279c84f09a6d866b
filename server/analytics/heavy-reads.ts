import { openPlaces } from '../../domain/core/limits.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';
import { FUNNEL_TIMEOUT_MS } from '../../store/analytics/funnel-stats.ts';
import { isQueryCanceled } from '../../store/core/database.ts';

const RETRY_SECONDS = 10;
const RESTART_SECONDS = 1;
const TRANSACTION_TIMEOUT = '25P04';
/** The database stops each of them after this time. */
export const HEAVY_READ_MS = FUNNEL_TIMEOUT_MS;

/**
 * Bounds the reads that may look at all events of a period. They are shared out by entity: one place is free for another entity however
 * many reads an entity asks for. A caller who hangs up leaves the line, and Postgres stops computing for them.
 */
export class HeavyReads {
  readonly #take = openPlaces('heavyReads');
  readonly #closing = new AbortController();

  /**
   * Refuses with 429 where too many wait, and with 503 where it took too long or the server ends. `read` ends its statements as soon as
   * its signal aborts.
   */
  async within<T>(entityId: number, hungUp: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = AbortSignal.any([hungUp, this.#closing.signal]);
    try {
      const release = await this.#take(entityId, undefined, signal);
      try {
        return await read(signal);
      } finally {
        release();
      }
    } catch (error) {
      if (signal.aborted) throw endedBy(signal);
      if (error instanceof TooManyWait) return refuseFullLine(error.waiting);
      if (!isQueryCanceled(error) && (error as { code?: string }).code !== TRANSACTION_TIMEOUT) throw error;
      return refuse(503, 'too_long', `This took longer than ${HEAVY_READ_MS / 1_000} seconds: ask for a shorter period`);
    }
  }

  /** Ends those that run and those that wait. */
  close(): void {
    const message = 'This server is ending. Please try again';
    this.#closing.abort(new Refusal(503, 'service_unavailable', message, { retry_after: RESTART_SECONDS }));
  }
}

function refuseFullLine(waiting: number): never {
  return refuse(429, 'too_many_requests', `${waiting} funnels and previews wait already: try again in ${RETRY_SECONDS} seconds`,
    { retry_after: RETRY_SECONDS });
}

/** The status of a caller who hung up is read in logs and metrics alone. */
function endedBy({ reason }: AbortSignal): Refusal {
  return reason instanceof Refusal ? reason : new Refusal(499, 'hung_up', 'The caller hung up');
}
