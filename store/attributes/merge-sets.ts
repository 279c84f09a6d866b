import type { FoldedSet, SaidChange } from '../../domain/attributes/attribute-change.ts';
import { applySetOperations, type SetOperation, type SetOutcome } from '../../domain/attributes/set-actions.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { type Said, TAKES_TRAITS } from './merge-scalars.ts';
import type { ChangedSet, StoredSets } from './stored-sets.ts';

/** An ADD for which the stored Set has no room, and whose Set it is. */
export type SetRefusal = SetOutcome['failures'][number] & Pick<FoldedSet, 'customerId' | 'attributeId'>;

/** Most stored elements held in memory at once: 50 MB where each of them is as long as allowed. */
const ELEMENTS_AT_ONCE = 50_000;

/** `takesTraits`: calls may come late, so that an unchanged Set writes its time, too. */
type Circumstances = {
  now: Date;
  at: Date;
  takesTraits: boolean;
  older: Set<number> | undefined;
  isCorrection: boolean;
};

/**
 * Reads each Set, applies its operations in file order, and writes it back where it changed; by portions of
 * ELEMENTS_AT_ONCE. A trait that was said before the Set it meets changes nothing, nor does a correction that would
 * replace it.
 */
export async function mergeSets(
  tx: Tx,
  entityId: number,
  sorId: number,
  stored: StoredSets,
  sets: readonly FoldedSet[],
  { at, older, isCorrection = false }: Said,
): Promise<SetRefusal[]> {
  if (sets.length === 0) return [];
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<{ now: Date; takes_traits: boolean }>(
    `SELECT now(), ${TAKES_TRAITS} AS takes_traits`,
    [entityId, sorId],
  );
  const { now, takes_traits: takesTraits } = rows[0]!;
  const refusals: SetRefusal[] = [];
  for (const portion of portions(sets, await stored.lock(sets))) {
    refusals.push(...(await mergePortion(stored, portion, { now, at: at ?? now, takesTraits, older, isCorrection })));
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

async function mergePortion(
  stored: StoredSets,
  sets: FoldedSet[],
  circumstances: Circumstances,
): Promise<SetRefusal[]> {
  const { now, takesTraits } = circumstances;
  const found = await stored.find(sets);
  const refusals: SetRefusal[] = [];
  const changed: ChangedSet[] = [];
  for (const [ordinal, set] of sets.entries()) {
    const known = found.get(ordinal);
    const { operations, saidAt } = leaveOutOlder(set.operations, known?.saidAt ?? null, circumstances);
    const result = applySetOperations(known?.elements ?? [], operations, now.toISOString());
    refusals.push(
      ...result.failures.map((failure) => ({ ...failure, customerId: set.customerId, attributeId: set.attributeId })),
    );
    const isRenewed = takesTraits && operations.length > 0 && saidAt?.getTime() !== known?.saidAt?.getTime();
    if (!result.changed && !isRenewed) continue;
    const state = {
      isSame: !result.changed,
      isStored: known !== undefined,
      isNew: known === undefined || known.isRemoved,
    };
    changed.push({ set, elements: result.elements, saidAt, ...state });
  }
  await stored.save(changed);
  return refusals;
}

/** Also returns when the latest operation of those that stay was said, or the stored Set if that is later. */
function leaveOutOlder(
  operations: readonly (SetOperation & SaidChange)[],
  storedAt: Date | null,
  { at, older, isCorrection }: Circumstances,
): { operations: SetOperation[]; saidAt: Date | null } {
  let latest = storedAt;
  const left = operations.filter(({ line, action, saidAt = at, isTrait }) => {
    const isOlder = latest !== null && saidAt < latest;
    if (isOlder && isTrait) older?.add(line);
    if (!isOlder) latest = saidAt;
    return !isOlder || (!isTrait && !(isCorrection && (action === 'UPSERT' || action === 'DEL')));
  });
  return { operations: left, saidAt: latest };
}
