import { isDeepStrictEqual } from 'node:util';
import { BATCH_BYTES, BATCH_ITEMS, type Batch, type Cursor, type Field, type ReadItem } from '../contract.ts';

export type Batcher = {
  /** Gives the batch that is full without this item. */
  add(item: ReadItem, bytes: number): Batch[];
  /** All up to here is behind this cursor. */
  passed(cursor: Cursor): void;
  /** Gives what was read of a stream that had other fields. */
  tell(fields: Field[]): Batch[];
  /** What is left, if only a cursor. */
  rest(): Batch[];
};

/** Puts together what a command prints in between its states; a batch goes with the last state before its end. */
export function batcher(start: Cursor | null): Batcher {
  let items: ReadItem[] = [];
  let bytes = 0;
  let cursor = start;
  let given = start;
  let fields: Field[] | undefined;
  let news: Field[] | undefined;
  const close = (): Batch => {
    const batch = { items, bytes, cursor, ...news && { fields: news } };
    items = [];
    bytes = 0;
    given = cursor;
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
    passed: (state) => { cursor = state; },
    tell(told) {
      if (isDeepStrictEqual(told, fields)) return [];
      const before = items.length > 0 ? [close()] : [];
      fields = told;
      news = told;
      return before;
    },
    rest: () => (items.length > 0 || !isDeepStrictEqual(cursor, given) ? [close()] : []),
  };
}
