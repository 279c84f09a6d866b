import type { FoldedSet } from '../../domain/attributes/attribute-change.ts';
import { applySetOperations, type SetOutcome } from '../../domain/attributes/set-actions.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { ChangedSet, StoredSets } from './stored-sets.ts';

/** An ADD for which the stored Set has no room, and whose Set it is. */
export type SetRefusal = SetOutcome['failures'][number] & Pick<FoldedSet, 'customerId' | 'attributeId'>;

/** Most stored elements held in memory at once: 50 MB where each of them is as long as allowed. */
const ELEMENTS_AT_ONCE = 50_000;

/** Reads each Set, applies its operations in file order, and writes it back where it changed; by portions of ELEMENTS_AT_ONCE. */
export async function mergeSets(tx: Tx, stored: StoredSets, sets: readonly FoldedSet[]): Promise<SetRefusal[]> {
  if (sets.length === 0) return [];
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<{ now: Date }>('SELECT now()');
  const refusals: SetRefusal[] = [];
  for (const portion of portions(sets, await stored.lock(sets))) {
    refusals.push(...await mergePortion(stored, portion, rows[0]!.now));
  }
  return refusals;
}

/** Sets whose stored elements together are few enough. */
function* portions(sets: readonly FoldedSet[], sizes: Map<number, number>): Generator<FoldedSet[]> {
  let portion: FoldedSet[] = [];
  let elements = 0;
  for (const [ordinal, set] of sets.entries()) {
    const size = sizes.get(ordinal) ?? 0;
    if (portion.length > 0 && elements + size > ELEMENTS_AT_ONCE) {
      yield portion;
      portion = [];
      elements = 0;
    }
    portion.push(set);
    elements += size;
  }
  yield portion;
}

async function mergePortion(stored: StoredSets, sets: FoldedSet[], now: Date): Promise<SetRefusal[]> {
  const found = await stored.find(sets);
  const refusals: SetRefusal[] = [];
  const changed: ChangedSet[] = [];
  for (const [ordinal, set] of sets.entries()) {
    const elements = found.get(ordinal);
    const result = applySetOperations(elements ?? [], set.operations, now.toISOString());
    refusals.push(...result.failures.map((failure) => ({ ...failure, customerId: set.customerId, attributeId: set.attributeId })));
    if (result.changed) changed.push({ set, elements: result.elements, isNew: elements === undefined });
  }
  await stored.save(changed);
  return refusals;
}
