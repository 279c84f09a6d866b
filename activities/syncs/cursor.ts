import type { Json } from '../../connectors/core/contract.ts';
import type { Tx } from '../../store/core/database.ts';
import { findErased } from '../../store/gdpr/tombstones.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { customerTypeOf } from './erased.ts';
import type { JoinedBatch } from './items.ts';
import { storable } from './stored-size.ts';

/** Characters that separate an id from the rest of an address, a list or a text. */
const BETWEEN_WORDS = /[\s"'()[\]{}<>,;:&=?/\\|]+/;

/** The cursor behind a batch, as it is stored: null for the beginning. Refuses one that is too large. */
export function cursorBehind({ cursor }: Pick<JoinedBatch, 'cursor'>): string | null {
  return cursor === null ? null : JSON.stringify(storable(cursor, 'cursor'));
}

/**
 * The cursor up to which a batch that was taken is noted down: the one behind it, as the source's cursor tells it, or
 * where that names somebody who was erased the one `before`, from which all is read once more should it be gone on
 * with. Of what a source still has of them nothing is kept. Asked in the transaction that notes it down.
 */
export async function cursorToNote(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets'>,
  sync: Pick<Sync, 'entityId' | 'destination' | 'mapping'>,
  { before, behind }: { before: string | null; behind: string | null },
): Promise<string | null> {
  const { destination } = sync;
  // Records that no key names would all be sent once more.
  const isReadAgain = 'sorId' in destination || destination.key.length > 0;
  return isReadAgain && (await isErasedNamed(tx, deps, sync, behind)) ? before : behind;
}

/** Returns whether a cursor names an erased person: a user, or a customer of the sync's own type. */
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

/** All that may be an id in it: whole texts and numbers, their words, and names of fields. */
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
