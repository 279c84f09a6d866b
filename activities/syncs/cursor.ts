// Stores a source's cursor, unless it names an erased person.
import type { Json } from '../../connectors/core/contract.ts';
import type { Tx } from '../../store/core/database.ts';
import { findErased } from '../../store/gdpr/tombstones.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { customerTypeOf } from './erased.ts';
import type { JoinedBatch } from './items.ts';
import { storable } from './stored-size.ts';

/** Characters that separate an id from the rest of a URL, a list or a text. */
const BETWEEN_WORDS = /[\s"'()[\]{}<>,;:&=?/\\|]+/;

/** Returns the cursor after a batch, as it is stored; null for the beginning. Refuses one that is too large. */
export function cursorBehind({ cursor }: Pick<JoinedBatch, 'cursor'>): string | null {
  return cursor === null ? null : JSON.stringify(storable(cursor, 'cursor'));
}

/**
 * Returns the cursor to store after a batch: the source's own, or `before` if that names an erased person, so that the
 * source is read again from there. Call it in the transaction that stores the cursor.
 */
export async function cursorToNote(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets'>,
  sync: Pick<Sync, 'entityId' | 'destination' | 'mapping'>,
  { before, behind }: { before: string | null; behind: string | null },
): Promise<string | null> {
  const { destination } = sync;
  // Without a key, records read again would all be sent again.
  const isReadAgain = 'sorId' in destination || destination.key.length > 0;
  return isReadAgain && (await isErasedNamed(tx, deps, sync, behind)) ? before : behind;
}

/** Returns whether a cursor contains the id of an erased person: a user id, or an id of the sync's customer type. */
export async function isErasedNamed(
  tx: Tx,
  { secrets }: Pick<Dependencies, 'secrets'>,
  sync: Pick<Sync, 'entityId' | 'mapping'>,
  position: string | null,
): Promise<boolean> {
  if (position === null) return false;
  const types = [...new Set(['user_id' as const, customerTypeOf(sync)])];
  const erased = await findErased(tx, secrets, sync.entityId, () =>
    [...wordsOf(JSON.parse(position) as Json)].flatMap((customerId) =>
      types.map((customerType) => ({ customerType, customerId })),
    ),
  );
  return erased.size > 0;
}

/** Yields everything in a cursor that may be an id: texts, numbers, their words, and field names. */
function* wordsOf(value: Json): Generator<string> {
  if (Array.isArray(value)) {
    for (const element of value) yield* wordsOf(element);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, field] of Object.entries(value)) {
      yield name;
      yield* wordsOf(field);
    }
  } else if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value);
    yield text;
    yield* text.split(BETWEEN_WORDS);
  }
}
