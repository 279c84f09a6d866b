import { type Batch, BATCH_BYTES, type Cursor, type Field, type ReadItem } from '../../connectors/core/contract.ts';
import type { Mapping } from '../../domain/syncs/record-mapping.ts';

/**
 * An item of a source, or that there was one of an erased person (`isErased`); of a re-drive also the line of the first
 * run that it brings again, and whether that could tell which it was.
 */
export type SyncItem = ReadItem & { rootLine?: number; wasNamed?: boolean; isErased?: boolean };

/** Consecutive batches of a source, written together. */
export type Gathered = {
  items: SyncItem[];
  bytes: number;
  cursor: Cursor | null;
  fields: Field[] | null;
  /** How much of the reading is taken with it, from 0 to 1; null where the source can't tell. */
  done: number | null;
  /** How many items have an odd cursor. */
  oddCursors: number;
};

/** Two batches of the source at most, or what comes to so many values. */
const MAX_BYTES = 2 * BATCH_BYTES;

/**
 * Puts small batches together, so that they are written at once. One that tells of other fields stands at the beginning
 * of the next.
 */
export async function* gather(
  batches: AsyncIterable<Batch>,
  mostValues: number,
  mapping: Mapping,
): AsyncGenerator<Gathered> {
  let held: Gathered | null = null;
  for await (const { items, bytes, cursor, fields, done = null, oddCursors = 0 } of batches) {
    if (held && fields) {
      yield held;
      held = null;
    }
    if (held === null) held = { items, bytes, cursor, fields: fields ?? null, done, oddCursors };
    else {
      held = {
        items: [...held.items, ...items],
        bytes: held.bytes + bytes,
        cursor,
        fields: held.fields,
        done,
        oddCursors: held.oddCursors + oddCursors,
      };
    }
    if (held.items.length * valuesOf(held, mapping) < mostValues && held.bytes < MAX_BYTES) continue;
    yield held;
    held = null;
  }
  if (held) yield held;
}

/** How many values a record has, or so: as many as the first one. */
function valuesOf({ items }: Gathered, { fields, otherFields }: Mapping): number {
  if (otherFields === 'drop') return Math.max(1, fields.filter((field) => !('drop' in field)).length);
  const first = items.find((item) => item.kind === 'record');
  return Math.max(1, first ? Object.keys(first.record).length : 1);
}

/** The same, each but the first made while the one before it is used. */
export async function* oneAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    for (let next = items.next(); ;) {
      const { value, done } = await next;
      if (done) return;
      next = items.next();
      next.catch(() => undefined); // the next turn throws it
      yield value;
    }
  } finally {
    await items.return(undefined).catch(() => undefined);
  }
}
