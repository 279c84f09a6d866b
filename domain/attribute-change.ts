import type { ScalarType, ScalarValue } from './attribute-value.ts';
import type { CustomerType } from './customer-id.ts';
import type { SetOperation } from './set-actions.ts';

/** Whose value of which attribute. */
export type ValueKey = { customerType: CustomerType; customerId: string; attributeId: number };

/** A checked row, ready to be merged; `line` names it in errors. */
export type AttributeChange = ScalarChange | SetChange;

/** A null value removes what is there. */
export type ScalarChange = ValueKey & {
  kind: 'value';
  line: number;
  valueType: ScalarType;
  value: ScalarValue | null;
};

export type SetChange = ValueKey & SetOperation & { kind: 'set' };

/** The changes of one batch with at most one scalar per key, and a key's Set operations in file order. */
export type FoldedChanges = {
  scalars: ScalarChange[];
  sets: (ValueKey & { operations: SetOperation[] })[];
};

/**
 * Folds changes in file order: of a scalar's rows the last one stands; a Set's rows are all kept, since
 * what an ADD does depends on what is stored.
 */
export function foldChanges(changes: Iterable<AttributeChange>): FoldedChanges {
  const scalars = new Map<string, ScalarChange>();
  const sets = new Map<string, ValueKey & { operations: SetOperation[] }>();
  for (const change of changes) {
    const key = `${change.attributeId}/${change.customerType}/${change.customerId}`;
    if (change.kind === 'value') {
      scalars.set(key, change);
      continue;
    }
    const { customerType, customerId, attributeId, action, elements, line } = change;
    const known = sets.get(key);
    if (known) known.operations.push({ action, elements, line });
    else sets.set(key, { customerType, customerId, attributeId, operations: [{ action, elements, line }] });
  }
  return { scalars: [...scalars.values()], sets: [...sets.values()] };
}
