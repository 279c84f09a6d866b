import { openPlaces } from '../../domain/core/limits.ts';
import { refuseWait } from './refuse-wait.ts';

/**
 * Lists that are streamed in pieces: bounds how many are at once, and so what their pieces hold in memory and of the
 * database's pool.
 */

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
    who: Who,
    pieces: AsyncIterable<readonly T[]>,
    show: (piece: readonly T[]) => readonly R[] | Promise<readonly R[]>,
  ): AsyncGenerator<R> {
    return this.within(who, shownRows(pieces, show));
  }

  /**
   * Yields rows in a place of the caller's entity, which ends with the last of them. Refuses with 429 where too many
   * wait, and with 503 where none has become free in time.
   */
  async *within<R>({ caller, hungUp }: Who, rows: AsyncIterable<R>): AsyncGenerator<R> {
    const gone = hungUp();
    const release = await this.#take(
      caller.entityId,
      undefined,
      AbortSignal.any([gone, AbortSignal.timeout(this.#waitMs)]),
    ).catch((error: unknown) => refuseWait(error, 'lists', gone));
    try {
      yield* rows;
    } finally {
      release();
    }
  }
}

async function* shownRows<T, R>(
  pieces: AsyncIterable<readonly T[]>,
  show: (piece: readonly T[]) => readonly R[] | Promise<readonly R[]>,
): AsyncGenerator<R> {
  for await (const piece of pieces) yield* await show(piece);
}
