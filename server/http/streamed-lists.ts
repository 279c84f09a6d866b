import { openPlaces } from '../../domain/core/limits.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';

/** Lists that are streamed in pieces: bounds how many are at once, and so what their pieces hold in memory and of the database's pool. */

const RETRY_SECONDS = 10;

/** A caller of a list. */
type Who = { caller: { entityId: number }; hungUp(): AbortSignal };

export class StreamedLists {
  readonly #take = openPlaces('streamedLists');
  readonly #waitMs: number;

  /** Lets a caller wait for a place for at most `waitMs`. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** Yields the rows of pieces one by one, as `show` makes them of a piece, in a place of the caller's entity. */
  shown<T, R>(
    who: Who, pieces: AsyncIterable<readonly T[]>, show: (piece: readonly T[]) => readonly R[] | Promise<readonly R[]>,
  ): AsyncGenerator<R> {
    return this.within(who, shownRows(pieces, show));
  }

  /**
   * Yields rows in a place of the caller's entity, which ends with the last of them. Refuses with 429 where too many wait, and with 503
   * where none has become free in time.
   */
  async* within<R>({ caller, hungUp }: Who, rows: AsyncIterable<R>): AsyncGenerator<R> {
    const release = await this.#place(caller.entityId, hungUp());
    try {
      yield* rows;
    } finally {
      release();
    }
  }

  async #place(entityId: number, hungUp: AbortSignal): Promise<() => void> {
    const waitedLong = AbortSignal.timeout(this.#waitMs);
    try {
      return await this.#take(entityId, undefined, AbortSignal.any([hungUp, waitedLong]));
    } catch (error) {
      // The status of a caller who hung up is read in logs and metrics alone.
      if (hungUp.aborted) throw new Refusal(499, 'hung_up', 'The caller hung up');
      if (error === waitedLong.reason) {
        return refuse(503, 'service_unavailable', `Other lists are being read: try again in ${RETRY_SECONDS} seconds`,
          { retry_after: RETRY_SECONDS });
      }
      if (!(error instanceof TooManyWait)) throw error;
      return refuse(429, 'too_many_requests', `${error.waiting} lists wait already: try again in ${RETRY_SECONDS} seconds`,
        { retry_after: RETRY_SECONDS });
    }
  }
}

async function* shownRows<T, R>(
  pieces: AsyncIterable<readonly T[]>, show: (piece: readonly T[]) => readonly R[] | Promise<readonly R[]>,
): AsyncGenerator<R> {
  for await (const piece of pieces) yield* await show(piece);
}
