import type { Cursor, Field, ReadItem } from '../../connectors/core/contract.ts';

/**
 * An item of a source, or that there was one of an erased person (`isErased`); of a re-drive also the line of the first
 * run that it brings again, and whether that could tell which it was.
 */
export type SyncItem = ReadItem & { rootLine?: number; wasNamed?: boolean; isErased?: boolean };

/** Consecutive batches of a source, written together. */
export type JoinedBatch = {
  items: SyncItem[];
  bytes: number;
  cursor: Cursor | null;
  fields: Field[] | null;
  /** How much of the reading is taken with it, from 0 to 1; null where the source can't tell. */
  done: number | null;
  /** How many items have an odd cursor. */
  oddCursors: number;
};
