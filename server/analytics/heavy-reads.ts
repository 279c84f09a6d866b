import { openPlaces } from '../../domain/core/limits.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Semaphore } from '../../domain/core/semaphore.ts';
import { FUNNEL_TIMEOUT_MS } from '../../store/analytics/funnel-stats.ts';
import { isQueryCanceled } from '../../store/core/database.ts';

/** Maximum number of an entity's reads that wait. */
const MAX_WAITING = 20;
const RETRY_SECONDS = 10;
const TRANSACTION_TIMEOUT = '25P04';
/** The database stops each of them after so long. */
export const HEAVY_READ_MS = FUNNEL_TIMEOUT_MS;

/** Bounds the reads that may look at all events of a period: whoever may ask for one could else ask for any number at once. */
export class HeavyReads {
  readonly #take: Semaphore = openPlaces('heavyReads');
  /** By entity: how many wait. */
  readonly #waiting = new Map<number, number>();

  /** Refuses with 429 where too many of the entity wait, and with 503 where it took too long. */
  async within<T>(entityId: number, read: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(entityId) ?? 0;
    if (waiting >= MAX_WAITING) {
      refuse(429, 'too_many_requests', `${MAX_WAITING} funnels and previews wait already: try again in ${RETRY_SECONDS} seconds`,
        { retry_after: RETRY_SECONDS });
    }
    this.#waiting.set(entityId, waiting + 1);
    const release = await this.#take(entityId).finally(() => this.#leave(entityId));
    try {
      return await read();
    } catch (error) {
      if (!isQueryCanceled(error) && (error as { code?: string }).code !== TRANSACTION_TIMEOUT) throw error;
      return refuse(503, 'too_long', `This took longer than ${HEAVY_READ_MS / 1_000} seconds: ask for a shorter period`);
    } finally {
      release();
    }
  }

  #leave(entityId: number): void {
    const left = this.#waiting.get(entityId)! - 1;
    if (left === 0) this.#waiting.delete(entityId);
    else this.#waiting.set(entityId, left);
  }
}
