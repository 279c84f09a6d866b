import { isDeepStrictEqual } from 'node:util';
import { BATCH_BYTES, BATCH_ITEMS, type Batch, type Cursor, type Field, type ReadItem } from './contract.ts';

export type Batcher = {
  /** An item, and how many bytes it had as it came. Gives the batch that is full without it. */
  add(item: ReadItem, bytes: number): Batch[];
  /** The item that was added last has an odd cursor (`odd-cursors.ts`). */
  odd(): void;
  /**
   * All that was added up to here is behind this cursor; a function where it takes time to make it, called where a
   * batch ends. `done`: how much of the reading that is, from 0 to 1.
   */
  passed(cursor: Cursor | (() => Cursor), done?: number): void;
  /** The fields of what follows. Gives what was added before, where they are others. */
  tell(fields: Field[]): Batch[];
  /** What is left, if only a cursor. */
  rest(): Batch[];
};

/**
 * Puts items together to batches as full as they may be, beginning at the cursor `start`. A batch goes with the last
 * cursor that was passed before its end, so what was added behind that comes again when reading goes on from it.
 */
export function batcher(start: Cursor | null): Batcher {
  let items: ReadItem[] = [];
  let bytes = 0;
  let cursor: Cursor | null | (() => Cursor) = start;
  let given = start;
  let done: number | undefined;
  let oddCursors = 0;
  let fields: Field[] | undefined;
  let news: Field[] | undefined;
  const cursorNow = () => (typeof cursor === 'function' ? cursor() : cursor);
  const close = (): Batch => {
    given = cursorNow();
    const batch = {
      items,
      bytes,
      cursor: given,
      ...(news && { fields: news }),
      ...(done === undefined ? {} : { done }),
      ...(oddCursors > 0 && { oddCursors }),
    };
    items = [];
    bytes = 0;
    oddCursors = 0;
    news = undefined;
    return batch;
  };
  return {
    add(item, size) {
      const full = items.length === BATCH_ITEMS || (items.length > 0 && bytes + size > BATCH_BYTES) ? [close()] : [];
      items.push(item);
      bytes += size;
      return full;
    },
    odd: () => {
      oddCursors += 1;
    },
    passed: (place, share) => {
      [cursor, done] = [place, share];
    },
    tell(told) {
      if (isDeepStrictEqual(told, fields)) return [];
      const before = items.length > 0 ? [close()] : [];
      fields = told;
      news = told;
      return before;
    },
    rest: () => (items.length > 0 || !isDeepStrictEqual(cursorNow(), given) ? [close()] : []),
  };
}
