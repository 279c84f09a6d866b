/** Collects items into batches. */
import { isDeepStrictEqual } from 'node:util';
import { Refusal } from '../../domain/core/refusal.ts';
import { BATCH_BYTES, BATCH_ITEMS, type Batch, type Cursor, type Field, type ReadItem } from './contract.ts';

export type Batcher = {
  /** Adds an item of this size; returns the batch that is full without it. */
  add(item: ReadItem, bytes: number): Batch[];
  /** Adds items that belong together, such as a page: a cut before them spares a second reading of some of them. */
  addAll(items: readonly (readonly [ReadItem, number])[]): Batch[];
  /** Marks the last item as having an odd cursor (`odd-cursors.ts`). */
  odd(): void;
  /** Notes that all items so far lie before this cursor; `done`: progress from 0 to 1. */
  passed(cursor: Cursor | (() => Cursor), done?: number): void;
  /** Sets the fields of what follows. Returns the items before, if the fields have changed. */
  setFields(fields: Field[]): Batch[];
  /** Returns the rest, even if it is only a cursor. */
  rest(): Batch[];
};

/**
 * Fills batches as far as possible, from the cursor `start`. A batch has the last cursor before its end, so items after
 * that cursor come again when reading continues.
 */
export function batcher(start: Cursor | null): Batcher {
  let items: ReadItem[] = [];
  let bytes = 0;
  let cursor: Cursor | null | (() => Cursor) = start;
  let given = start;
  let done: number | undefined;
  let oddCursors = 0;
  let fields: Field[] | undefined;
  let changedFields: Field[] | undefined;
  const cursorNow = () => (typeof cursor === 'function' ? cursor() : cursor);
  const close = (): Batch => {
    given = cursorNow();
    const batch = {
      items,
      bytes,
      cursor: given,
      ...(changedFields && { fields: changedFields }),
      ...(done === undefined ? {} : { done }),
      ...(oddCursors > 0 && { oddCursors }),
    };
    items = [];
    bytes = 0;
    oddCursors = 0;
    changedFields = undefined;
    return batch;
  };
  /** Closes the batch if this much more does not fit. */
  const closeBefore = (count: number, size: number): Batch[] =>
    items.length > 0 && (items.length + count > BATCH_ITEMS || bytes + size > BATCH_BYTES) ? [close()] : [];
  const add = (item: ReadItem, size: number): Batch[] => {
    const full = closeBefore(1, size);
    items.push(item);
    bytes += size;
    return full;
  };
  return {
    add,
    addAll(given) {
      const total = given.reduce((sum, [, size]) => sum + size, 0);
      return [...closeBefore(given.length, total), ...given.flatMap(([item, size]) => add(item, size))];
    },
    odd: () => {
      oddCursors += 1;
    },
    passed: (behind, share) => {
      [cursor, done] = [behind, share];
    },
    setFields(next) {
      if (isDeepStrictEqual(next, fields)) return [];
      const before = items.length > 0 ? [close()] : [];
      fields = next;
      changedFields = next;
      return before;
    },
    rest: () => (items.length > 0 || !isDeepStrictEqual(cursorNow(), given) ? [close()] : []),
  };
}

/** Yields the batches of `read` and the rest of its items: at its end, and before a refusal, as pages cost calls. */
export async function* batched(
  start: Cursor | null,
  read: (own: Batcher) => AsyncIterable<Batch>,
): AsyncGenerator<Batch> {
  const own = batcher(start);
  try {
    yield* read(own);
  } catch (error) {
    if (error instanceof Refusal) yield* own.rest();
    throw error;
  }
  yield* own.rest();
}
