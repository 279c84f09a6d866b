import { type Batch, BATCH_BYTES, BATCH_ITEMS, type Cursor, type ReadItem } from '../contract.ts';
import type { Portion } from './file-portions.ts';

/** Batches as full as they may be. The last one, that may be empty, has the cursor of the last portion. */
export async function* batches(portions: AsyncIterable<Portion>): AsyncGenerator<Batch, void, undefined> {
  let items: ReadItem[] = [];
  let bytes = 0;
  let cursor: (() => Cursor) | undefined;
  const take = (): Batch => {
    const batch = { items, bytes, cursor: cursor!() };
    items = [];
    bytes = 0;
    cursor = undefined;
    return batch;
  };
  for await (const portion of portions) {
    for (const [index, found] of portion.items.entries()) {
      if (items.length === BATCH_ITEMS || (items.length > 0 && bytes + found.bytes > BATCH_BYTES)) yield take();
      items.push(found.item);
      bytes += found.bytes;
      cursor = () => portion.cursorAfter(index);
    }
    if (portion.items.length === 0) cursor = () => portion.cursorAfter(-1);
  }
  if (cursor !== undefined) yield take();
}
