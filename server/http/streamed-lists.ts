/** Lists that are streamed: bounds how many run at once, and so their memory and database connections. */
import { openPlaces } from '../../domain/core/limits.ts';
import { refuseWait } from './refuse-wait.ts';

type Who = { caller: { entityId: number }; hungUp(): AbortSignal };

export class StreamedLists {
  readonly #take = openPlaces('streamedLists');
  readonly #waitMs: number;

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  shown<T, R>(
    who: Who,
    pieces: AsyncIterable<readonly T[]>,
    show: (piece: readonly T[]) => readonly R[] | Promise<readonly R[]>,
  ): AsyncGenerator<R> {
    return this.within(who, shownRows(pieces, show));
  }

  /** Yields rows in a place of the entity. Refuses with 429 if too many wait, and with 503 after a timeout. */
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
