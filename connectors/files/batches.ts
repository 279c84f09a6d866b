import { batcher } from '../core/batcher.ts';
import type { Batch } from '../core/contract.ts';
import type { Portion } from './file-portions.ts';

/** Fills batches as far as possible. The last one, which may be empty, has the cursor of the last portion. */
export async function* batches(portions: AsyncIterable<Portion>): AsyncGenerator<Batch, void, undefined> {
  const { add, passed, rest } = batcher(null);
  for await (const { items, cursorAfter, done } of portions) {
    for (const [index, { item, bytes }] of items.entries()) {
      for (const full of add(item, bytes)) yield full;
      passed(() => cursorAfter(index), done);
    }
    if (items.length === 0) passed(() => cursorAfter(-1), done);
  }
  yield* rest();
}
