import type { Batch, Reading } from '../core/contract.ts';
import { batches } from './batches.ts';
import type { OpenFile } from './file-bytes.ts';
import { fileCursor, filePortions, openBehind } from './file-portions.ts';
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
