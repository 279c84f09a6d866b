import type { Cursor, Field, ReadItem } from '../../connectors/core/contract.ts';

/**
 * An item of a source, or the placeholder of an erased person's (`isErased`). In a re-drive: the line of the first run
 * that it repeats (`rootLine`), and whether that run knew its key (`wasNamed`).
 */
export type SyncItem = ReadItem & { rootLine?: number; wasNamed?: boolean; isErased?: boolean };

/** Returns the source's key of a record; null if the sync has no use for it. */
export function sourceKeyOf(item: SyncItem, { removes }: { removes: boolean }): string | null {
  return removes && item.kind === 'record' ? (item.key ?? null) : null;
}

/** Consecutive batches of a source that are written together. */
export type JoinedBatch = {
  items: SyncItem[];
  bytes: number;
  cursor: Cursor | null;
  fields: Field[] | null;
  /** Share of the reading that is done after it, from 0 to 1; null if the source can't tell. */
  done: number | null;
  /** Number of items with an odd cursor. */
  oddCursors: number;
  /** True: the source is asked for more only when the cursor is stored. */
  isStoredFirst?: boolean;
};
