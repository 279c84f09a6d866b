import { batcher } from '../core/batcher.ts';
import type { Batch, Reading } from '../core/contract.ts';
import type { OpenFile } from './file-bytes.ts';
import { fileCursor, filePortions, openBehind, type Portion } from './file-portions.ts';
import type { FileSettings } from './file-settings.ts';

/** Reads one file: from the cursor if it is unchanged, and not at all if an incremental reading has read it. */
export async function* readFile(
  settings: FileSettings,
  open: OpenFile,
  { mode, cursor: kept }: Pick<Reading, 'mode' | 'cursor'>,
): AsyncGenerator<Batch, void, undefined> {
  const cursor = fileCursor.safeParse(kept).data ?? null;
  if (mode === 'full' && cursor?.isDone) return;
  const goesOnBehind = cursor?.isDone ? null : cursor;
  const file = await openBehind(open, goesOnBehind);
  try {
    if (cursor?.isDone && cursor.mark !== null && cursor.mark === file.mark) return;
    yield* batches(filePortions(settings, file, goesOnBehind));
  } finally {
    await file.end();
  }
}

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
